"""What loaders did: counters, and what people and tools are shown of them."""
