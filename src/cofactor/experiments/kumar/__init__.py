"""Tables and figures of V. Kumar's thesis (University of Hyderabad, 2018)."""
