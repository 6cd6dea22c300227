"""Ratings from files into a folder of shards: in passes over the data, in bounded memory."""
