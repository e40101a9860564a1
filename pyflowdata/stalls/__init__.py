"""Who is stuck while a program waits for a batch, and on what."""
