"""Which tests of torch and torchdata are not run with our DataLoader, which fail, and why.

Each entry has the file, the reason in a sentence, and patterns of names Class.test.
"""

TORCH = "torch/test_dataloader.py"
STATEFUL = "torchdata/test_dataloader.py"  # torch's file as of 2024, with the stateful loader
STATES = "torchdata/test_state_dict.py"
WITHOUT_LOADER = "It tests datasets, samplers or collation of torch and makes no loader."
NO_LOADER_HERE = """
    TestDatasetRandomSplit.test_splits_[!i]* TestDatasetRandomSplit.test_[!s]*
    TestDatasetRandomSplit.test_slicing_* TestTensorDataset.* TestStackDataset.* TestConcatDataset.*
    TestDataLoader*.test_default_co* TestDataLoader*.test_distributed_sampler_invalid_rank
    TestDataLoader*.test_numpy_gen_state TestDataLoader*.test_random_sampler
    TestDataLoader*.test_sampler_reproducibility
"""
OLDER_TORCH = "It fails with torch's own loader, too: the test is older than torch 2.13."
UNSTEADY = "It passes and fails with torch's own loader, too, as the machine is idle or busy."
PRIVATE = "It reads `_workers` of the iterator, which is private to torch's."
KEYS = "It reads keys within the state, which are torchdata's own; ours has other ones."
SEED = "It calls torch.manual_seed() between epochs to get their order; ours depends on its seed."
ON_DEMAND = "It wants batch i from worker i modulo their number; ours gives it to one that is free."
LAZY = "It wants the error of a worker from iter(); ours starts the workers with the first batch."
ELASTIC = "It wants another number of workers refused; ours goes on with it."

NOT_RUN = [
    (TORCH, WITHOUT_LOADER, NO_LOADER_HERE),
    (STATEFUL, WITHOUT_LOADER, NO_LOADER_HERE),
    (TORCH, OLDER_TORCH, "TestDataLoader*.test_get_worker_info"),
    (STATEFUL, OLDER_TORCH, "TestDataLoader*.test_get_worker_info"),
    (
        TORCH,
        UNSTEADY,
        "TestDataLoader*.test_segfault TestOutOfOrderDataLoader.test_out_of_order_*",
    ),
    (
        STATEFUL,
        UNSTEADY,
        """
        TestDataLoader*.test_segfault TestDataLoader*.test_multiprocessing_*
        TestOutOfOrderDataLoader.test_out_of_order_*
        """,
    ),
]
FAIL_WITH_OURS = [
    (TORCH, PRIVATE, "TestDataLoader*.test_iterable_style_dataset TestDataLoader*.test_partial_*"),
    (STATEFUL, PRIVATE, "TestDataLoader*.test_iterable_style_* TestDataLoader*.test_partial_*"),
    (TORCH, SEED, "IntegrationTestDataLoaderDataPipe.*"),
    (STATEFUL, SEED, "IntegrationTestDataLoaderDataPipe.*"),
    (
        STATES,
        KEYS,
        """
        TestInitialState_shard0.test_initial_state
        TestInitialState_shard0.test_load_state_after_initial_state_dict
        TestDynamicStateIterableDataset_shard0.* TestDatasetIteratorStateDuplication_shard0.*
        TestSingleIterCalled_shard0.* TestOutOfOrderWithCheckpointing.test_out_of_order_iterable_*
        """,
    ),
    (TORCH, ON_DEMAND, "TestIndividualWorkerQueue.test_ind_worker_queue"),
    (
        STATEFUL,
        ON_DEMAND,
        "TestIndividualWorkerQueue.* TestOutOfOrderDataLoader.test_in_order_index_ds",
    ),
    (STATES, ELASTIC, "TestNumWorkersMismatch_shard3.test_num_workers_mismatch"),
    (STATES, LAZY, "TestInitialState_shard0.test_init_error"),
]
QUICK = {
    TORCH: """
        TestDataLoader.test_builtin_collection_conversion TestDataLoader.test_bulk_loading_nobatch
        TestDataLoader.test_error TestDataLoader.test_error_workers
        TestDataLoader.test_growing_dataset TestDataLoader.test_invalid_ctor_args_combinations
        TestDataLoader.test_iterabledataset_len TestDataLoader.test_worker_seed
        TestDataLoader.test_len TestDataLoader.test_numpy TestDataLoader.test_numpy_scalars
        TestDataLoader.test_sequential_batch TestDataLoader.test_sequential_nonbatch
        TestDataLoader.test_sequential_workers TestDataLoader.test_shuffle
        TestDataLoader.test_shuffle_batch TestDataLoader.test_shuffle_batch_none
        TestDataLoader.test_shuffle_batch_workers TestDataLoader.test_shuffle_workers
        TestDataLoaderPersistentWorkers.test_dataset_not_reset
        TestNamedTupleDataLoader.test_dataloader_with_namedtuple
        TestDictDataLoader.test_sequential_batch
    """,
}
