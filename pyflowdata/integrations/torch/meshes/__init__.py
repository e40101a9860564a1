"""Meshes of devices: which ranks get the same rows, parts of sequences, DTensors.

    mesh = init_device_mesh("cuda", (4, 2), mesh_dim_names=("dp", "tp"))
    loader = TorchLoader(x, y, mesh=mesh["dp"], device="cuda")   # tp peers get the same rows
"""
