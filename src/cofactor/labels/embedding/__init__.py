"""Models which embed labels or instances in a space of few dimensions."""
