//! Tables that other libraries take without a copy: the Arrow PyCapsule interface.

use arrow_array::RecordBatch;
use arrow_array::RecordBatchIterator;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// A table in Arrow's format. `pyarrow.table(t)` and `polars.DataFrame(t)` take it without a copy.
#[pyclass(frozen, module = "brimful._core")]
pub(crate) struct Table {
    first: RecordBatch,
    others: Vec<RecordBatch>,
}

impl Table {
    /// Of one batch.
    pub(crate) fn new(first: RecordBatch) -> Self {
        Self {
            first,
            others: Vec::new(),
        }
    }

    /// Of several with the same columns; none of no batch, since there are no columns then.
    pub(crate) fn of_several(batches: Vec<RecordBatch>) -> Option<Self> {
        let mut batches = batches.into_iter();
        Some(Self {
            first: batches.next()?,
            others: batches.collect(),
        })
    }
}

#[pymethods]
impl Table {
    /// The Arrow C stream of its batches, in a capsule. The format is always its own.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // a caller that requests another format converts: the interface leaves that to both sides
        let _ = requested_schema;
        let batches = core::iter::once(&self.first).chain(&self.others);
        let batches: Vec<_> = batches.cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.first.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}
