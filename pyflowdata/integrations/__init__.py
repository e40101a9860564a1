"""Hand-over to training frameworks; each module needs its own package."""
