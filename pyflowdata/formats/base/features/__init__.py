"""Messages of protobuf with named features, which two formats have: read and written."""
