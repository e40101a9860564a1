"""What the modules of formats share: finding fields, reading, writing, and what is damaged."""
