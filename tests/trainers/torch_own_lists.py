"""Which tests of torch and torchdata are not run with our DataLoader, which fail, and why.

Each entry has the file, the reason in a sentence, and patterns of names Class.test.
"""

TORCH = "torch/test_dataloader.py"
STATEFUL = "torchdata/test_dataloader.py"  # torch's file as of 2024, with the stateful loader
STATES = "torchdata/test_state_dict.py"
WITHOUT_LOADER = "It tests data sets, samplers or collation of torch and makes no loader."
NO_LOADER_HERE = """
    TestDatasetRandomSplit.test_splits_[!i]* TestDatasetRandomSplit.test_[!s]*
    TestDatasetRandomSplit.test_slicing_* TestTensorDataset.* TestStackDataset.* TestConcatDataset.*
    TestDataLoader*.test_default_co* TestDataLoader*.test_distributed_sampler_invalid_rank
    TestDataLoader*.test_numpy_gen_state TestDataLoader*.test_random_sampler
    TestDataLoader*.test_sampler_reproducibility TestDataLoader*.test_typing
"""
OLDER_TORCH = "It fails with torch's own loader, too: the test is older than torch 2.13."
UNSTEADY = "It passes and fails with torch's own loader, too, as the machine is idle or busy."

NOT_RUN = [
    (TORCH, WITHOUT_LOADER, NO_LOADER_HERE),
    (TORCH, OLDER_TORCH, "TestDataLoader*.test_get_worker_info"),
    (
        TORCH,
        UNSTEADY,
        "TestDataLoader*.test_segfault TestOutOfOrderDataLoader.test_out_of_order_index_ds",
    ),
]
FAIL_WITH_OURS: list[tuple[str, str, str]] = []
QUICK = {
    TORCH: """
        TestDataLoader.test_builtin_collection_conversion TestDataLoader.test_bulk_loading_nobatch
        TestDataLoader.test_error TestDataLoader.test_error_workers
        TestDataLoader.test_growing_dataset TestDataLoader.test_invalid_ctor_args_combinations
        TestDataLoader.test_iterable_style_dataset TestDataLoader.test_iterabledataset_len
        TestDataLoader.test_len TestDataLoader.test_numpy TestDataLoader.test_numpy_scalars
        TestDataLoader.test_sequential_batch TestDataLoader.test_sequential_nonbatch
        TestDataLoader.test_sequential_workers TestDataLoader.test_shuffle
        TestDataLoader.test_shuffle_batch TestDataLoader.test_shuffle_batch_none
        TestDataLoader.test_shuffle_batch_workers TestDataLoader.test_shuffle_workers
        TestDataLoader.test_worker_init_fn TestDataLoaderPersistentWorkers.test_dataset_not_reset
        TestNamedTupleDataLoader.test_dataloader_with_namedtuple
        TestDictDataLoader.test_sequential_batch
    """,
    STATES: """
        TestStatefulDataLoaderIterable_shard0.test_no_mp
        TestStatefulDataLoaderIterable_shard0.test_random_state
        TestStatefulDataLoaderMap_shard1.test_mp_x TestSnapshotEnd_shard2.test_map_shuffle
        TestInitialState_shard0.test_iteration_error
    """,
}
