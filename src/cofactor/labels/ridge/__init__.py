"""Ridge regression of labels, linear and with a kernel, with all settings chosen by exact leave-one-out."""
