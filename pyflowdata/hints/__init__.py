"""What is said where a name, an argument or a thing is used as in another library: what does the
same here.  The tables know names of this package and of others as texts alone."""
