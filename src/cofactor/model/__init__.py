"""What every estimator of either half needs: checks of parameters, progress, and its state as a file holds it."""
