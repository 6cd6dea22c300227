"""Tables and figures of the paper on nonnegative matrix tri-factorization (Kimura, Kudo and Sun)."""
