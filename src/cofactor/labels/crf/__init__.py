"""Conditional random fields: log-linear models of label sets, with weights of pairs of labels."""
