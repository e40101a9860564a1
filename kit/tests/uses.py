"""What the kit uses of pyflowdata, besides op.h and pyflowdata.h: all of it, and nothing else.

test_layering.py compares these lists with what the files of the kit include, call and import.  The
functions are marked PFD_PRIVATE in the headers, and exported for the kit alone.
"""

HEADERS = """
    core/convert.h core/cpu.h core/error.h core/hash.h core/narrow_floats.h core/random.h
    core/scratch.h dataset/dataset.h files/codecs.h files/input_files.h
    loader/plan/data_reader.h loader/private_version.h registry/attrs.h registry/node.h
""".split()

FUNCTIONS = """
    pfd_attrs_struct pfd_data_reader_check_guard pfd_data_reader_close pfd_data_reader_locate
    pfd_data_reader_open pfd_dataset_close pfd_dataset_seek pfd_file_read pfd_host_table
    pfd_input_files_bytes pfd_input_files_close pfd_input_files_list pfd_node_find_files
    pfd_node_open_files pfd_op_is_reader pfd_path_list_free pfd_private_version
    pfd_reader_attrs_access pfd_reader_ports_fill pfd_registry_find pfd_source_self
    pfd_source_to_dataset
""".split()

MODULES = """
    pyflowdata pyflowdata.cli.usage pyflowdata.errors pyflowdata.insight pyflowdata.loader
    pyflowdata.native pyflowdata.native.declared
    pyflowdata.nodes pyflowdata.nodes.attr_values pyflowdata.nodes.node pyflowdata.nodes.objects
    pyflowdata.nodes.registry pyflowdata.nodes.tables pyflowdata.plugins
    pyflowdata.plugins.compiler pyflowdata.plugins.loading pyflowdata.plugins.packages
    pyflowdata.workers.inside pyflowdata.workers.pool pyflowdata.workers.shared_memory
    pyflowdata.words.plain_text
""".split()
