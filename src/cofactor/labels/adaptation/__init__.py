"""Models which adapt a method for one label to many labels."""
