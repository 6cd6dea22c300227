"""What experiments are made of: cells, rows, claims, pictures, and the document of all of them."""
