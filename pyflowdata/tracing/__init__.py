"""What threads and batches of a loader do, written down for Perfetto to show."""
