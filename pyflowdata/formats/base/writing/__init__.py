"""What writers of all formats share: the files they make, and rows as arrays of bytes."""
