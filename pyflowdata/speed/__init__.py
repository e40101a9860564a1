"""How fast a loader is without training, and training without a loader."""
