"""Models which embed labels or instances in a space with few dimensions."""
