"""Tables of C.-X. Li's thesis (University of California, San Diego, 2011)."""
