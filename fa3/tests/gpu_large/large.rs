//! A problem of any size, whose operands repeat a pattern.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fa3::reference::{self, Inputs, Row, RowResult};
use fa3::{
    Buffer, DType, Device, Layout, Operands, Options, Pointer, Problem, Sequences, Sizes, StreamHandle,
    Tensor, TensorSpec, Workspace,
};
use half::bf16;

use super::pattern::Pattern;

/// One sequence, and where it lies in the tensors.
#[derive(Clone, Copy)]
pub struct Sequence {
    pub batch: usize,
    pub q_start: usize,
    pub q_len: usize,
    pub k_start: usize,
    pub k_len: usize,
}

/// Causal or plain attention with V laid out like K and as wide.
pub struct Large {
    device: Device,
    pattern: Pattern,
    problem: Problem,
    /// Lengths used, or where packed sequences begin.
    lengths: Option<Vec<i32>>,
    /// Two would not fit.
    _alone: MutexGuard<'static, ()>,
}

/// Which elements Q, K and V begin with.
const STARTS: [usize; 3] = [0, 70_001, 400_009];
/// What no kernel writes.
const UNWRITTEN: u8 = 0xff;

impl Large {
    pub fn new(q: Layout, kv: Layout, o: Layout, options: Options) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let spec = |layout| TensorSpec { dtype: DType::Bf16, layout };
        Self {
            _alone: ALONE.lock().unwrap_or_else(PoisonError::into_inner),
            device: Device::cuda(0).unwrap(),
            pattern: Pattern::new(),
            problem: Problem {
                q: spec(q),
                k: spec(kv),
                v: spec(kv),
                o: spec(o),
                lse: true,
                sinks: false,
                alibi: false,
                sequences: Sequences::Dense,
                options,
            },
            lengths: None,
        }
    }

    /// Each batch entry uses so many keys.
    pub fn use_keys(&mut self, used: &[i32]) {
        self.problem.sequences = Sequences::UsedKeys;
        self.lengths = Some(used.to_vec());
    }

    /// Sequences begin at these tokens of Q and of K.
    pub fn pack(&mut self, cu: &[i32]) {
        let longest = cu.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap() as usize;
        self.problem.sequences = Sequences::Packed { count: cu.len() - 1, max_q: longest, max_k: longest };
        self.lengths = Some(cu.to_vec());
    }

    /// Memory that repeats the pattern.
    fn repeated(&self, spec: &TensorSpec, start: usize) -> Buffer {
        let bytes = spec.layout.span().unwrap() * size_of::<bf16>();
        let backend = self.device.backend();
        let buffer = Buffer::new(backend, bytes).unwrap();
        let period = self.pattern.period(start);
        let period: &[u8] = bytemuck::cast_slice(&period);
        let mut done = period.len().min(bytes);
        // SAFETY: each copy doubles what is there, within the buffer; nothing else uses it.
        unsafe {
            backend.upload(buffer.pointer(), &period[..done], StreamHandle::DEFAULT).unwrap();
            while done < bytes {
                let more = done.min(bytes - done);
                let to = later(buffer.pointer(), done);
                backend.copy(to, buffer.pointer(), more, StreamHandle::DEFAULT).unwrap();
                done += more;
            }
        }
        buffer
    }

    /// Computes all, and compares rows, each a head and a query of a sequence.
    #[track_caller]
    pub fn check(&self, rows: impl IntoIterator<Item = (Sequence, (usize, usize))>) {
        let backend = self.device.backend();
        let plan = self.device.plan(&self.problem).unwrap();
        let [q, k, v] = [&self.problem.q, &self.problem.k, &self.problem.v];
        let buffers = [(q, 0), (k, 1), (v, 2)].map(|(spec, n)| self.repeated(spec, STARTS[n]));
        let unwritten = |bytes: usize| {
            let buffer = Buffer::new(backend, bytes).unwrap();
            // SAFETY: as many bytes as were allocated; nothing else uses them.
            unsafe { backend.fill(buffer.pointer(), UNWRITTEN, bytes, StreamHandle::DEFAULT).unwrap() };
            buffer
        };
        let o = unwritten(self.problem.o.layout.span().unwrap() * size_of::<bf16>());
        let lse = unwritten(plan.dims().lse_len * size_of::<f32>());
        let lengths = self
            .lengths
            .as_deref()
            .map(|lengths| Buffer::from_bytes(backend, bytemuck::cast_slice(lengths)).unwrap());
        let lengths = lengths.as_ref().map(Buffer::pointer);
        let packed = matches!(self.problem.sequences, Sequences::Packed { .. });
        let tensor = |buffer: &Buffer, spec| Tensor { pointer: buffer.pointer(), spec };
        let operands = Operands {
            lse: Some(lse.pointer()),
            used_k: lengths.filter(|_| !packed),
            cu_q: lengths.filter(|_| packed),
            cu_k: lengths.filter(|_| packed),
            ..Operands::new(
                tensor(&buffers[0], *q),
                tensor(&buffers[1], *k),
                tensor(&buffers[2], *v),
                tensor(&o, self.problem.o),
            )
        };
        let binding = plan.bind(backend, &operands, Workspace::Own).unwrap();
        // SAFETY: all buffers are as large as their layouts, and live until the downloads below.
        unsafe { binding.run(StreamHandle::DEFAULT).unwrap() };
        let mut compared = Vec::new();
        for (sequence, (head, query)) in rows {
            let (exact, plain) = self.expected(sequence, head, query);
            let found = self.found(sequence, head, query, o.pointer(), lse.pointer());
            compared.push((
                format!("batch {}, token {}, head {head}", sequence.batch, sequence.q_start + query),
                exact,
                plain,
                found,
            ));
        }
        let error = |a: &RowResult, b: &RowResult| {
            // NaN is the largest error of all.
            let off = a.o.iter().zip(&b.o).map(|(a, b)| (a - b).abs());
            off.fold(0.0, |most: f64, off| if off <= most { most } else { off })
        };
        let plain = compared.iter().map(|(_, exact, plain, _)| error(plain, exact)).fold(0.0, f64::max);
        assert!(!compared.is_empty());
        for (row, exact, _, found) in &compared {
            let off = error(found, exact);
            assert!(off <= 2.0 * plain, "{row}: O is off by {off:e}, more than twice {plain:e}\n{plan}");
            let off = (found.lse - exact.lse).abs();
            assert!(off <= 1e-5 * (1.0 + exact.lse.abs()), "{row}: the LSE is off by {off:e}\n{plan}");
        }
    }

    /// What the reference and the plain computation give for a row: that of one query which sees every key.
    fn expected(&self, sequence: Sequence, head: usize, query: usize) -> (RowResult, RowResult) {
        let Problem { q, k, o, options, .. } = &self.problem;
        let [_, _, heads, d] = q.layout.shape;
        let head_k = head / (heads / k.layout.shape[2]);
        let Sequence { batch, q_start, q_len, k_start, k_len } = sequence;
        let keys = if options.causal { (k_len + query + 1).saturating_sub(q_len).min(k_len) } else { k_len };
        let gather = |layout: &Layout, start: usize, tokens: core::ops::Range<usize>, head: usize| {
            let [sb, ss, sh, _] = layout.strides;
            let mut rows = Vec::with_capacity(tokens.len() * layout.shape[3]);
            for token in tokens {
                self.pattern.append(&mut rows, start, batch * sb + token * ss + head * sh, layout.shape[3]);
            }
            rows
        };
        let token = q_start + query;
        let q = gather(&q.layout, STARTS[0], token..token + 1, head);
        let [k, v] = [1, 2].map(|n| gather(&k.layout, STARTS[n], k_start..k_start + keys, head_k));
        let sizes = Sizes { sk: keys, dv: o.layout.shape[3], ..Sizes::new(1, 1, 1, d) };
        let problem = Problem::dense(DType::Bf16, sizes, Options { causal: false, ..*options });
        let (inputs, row) = (Inputs::new(&q, &k, &v), [Row { sequence: 0, head: 0, query: 0 }]);
        let one = |rows: Vec<RowResult>| rows.into_iter().next().unwrap();
        (
            one(reference::forward_rows(&problem, &inputs, &row).unwrap()),
            one(reference::low_precision_rows(&problem, &inputs, &row).unwrap()),
        )
    }

    /// What the device computed for a row.
    fn found(&self, sequence: Sequence, head: usize, query: usize, o: Pointer, lse: Pointer) -> RowResult {
        let layout = self.problem.o.layout;
        let [_, sq, heads, dv] = layout.shape;
        let [sb, ss, sh, _] = layout.strides;
        let (batch, token) = (sequence.batch, sequence.q_start + query);
        let at = batch * sb + token * ss + head * sh;
        // What lies between this row and any other must be as it was.
        let steps = layout.strides.iter().zip(&layout.shape).take(3).filter(|&(_, &extent)| extent > 1);
        let gap = steps
            .map(|(&stride, _)| stride - dv)
            .min()
            .unwrap_or(0)
            .min(layout.span().unwrap() - at - dv)
            .min(64);
        let mut row = vec![bf16::ZERO; dv + gap];
        let mut log = [0f32];
        let backend = self.device.backend();
        let o = later(o, at * size_of::<bf16>());
        let lse = later(lse, ((batch * heads + head) * sq + token) * size_of::<f32>());
        // SAFETY: both lie within the outputs, which the kernel has written when the stream gets there.
        unsafe {
            backend.download(bytemuck::cast_slice_mut(&mut row), o, StreamHandle::DEFAULT).unwrap();
            backend.download(bytemuck::cast_slice_mut(&mut log), lse, StreamHandle::DEFAULT).unwrap();
        }
        assert!(
            row.drain(dv..).all(|value| value.to_bits() == u16::from_ne_bytes([UNWRITTEN; 2])),
            "beyond {at}"
        );
        RowResult { o: row.iter().map(|value| value.to_f64()).collect(), lse: log[0].into() }
    }
}

fn later(Pointer { address, place }: Pointer, bytes: usize) -> Pointer {
    Pointer { address: address + bytes as u64, place }
}
