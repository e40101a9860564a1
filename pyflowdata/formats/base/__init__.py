"""Shared by the modules of formats: inference of fields, reading, writing, and damage."""
