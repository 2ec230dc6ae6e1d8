//! The sizes of a problem, once its shapes, types and options are known to agree.

use crate::{DType, Error, Layout, Options, Problem, Result, Sequences, TensorSpec};

/// The sizes of a well-formed [`Problem`]. Made by [`Problem::dims`] only, so that holding one
/// means that the problem was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Dims {
    /// The first extent of the tensors; 1 when sequences are packed.
    pub batch: usize,
    /// How many sequences: `batch`, or the count of packed ones.
    pub sequences: usize,
    /// Rows of Q a batch entry; the total when sequences are packed.
    pub sq: usize,
    /// Rows of K and V a batch entry; the total when sequences are packed.
    pub sk: usize,
    /// No sequence of Q is longer.
    pub max_q: usize,
    /// No sequence of K and V is longer.
    pub max_k: usize,
    /// Heads of Q and O.
    pub heads_q: usize,
    /// Heads of K and V.
    pub heads_k: usize,
    /// Query heads that share a head of K and V; 1 when there are no heads.
    pub group: usize,
    /// The dimension of Q's and K's heads.
    pub d: usize,
    /// The dimension of V's and O's heads.
    pub dv: usize,
    /// Elements of the LSE: `batch · heads_q · sq`.
    pub lse_len: usize,
}

impl Dims {
    /// Whether O has no element, so that there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.batch == 0 || self.sq == 0 || self.heads_q == 0
    }
}

/// The longest span of a tensor, in bytes: addresses are compared as signed 64-bit numbers.
pub(crate) const MAX_BYTES: usize = i64::MAX as usize;

/// The largest extent, so that positions and counts of (query, key) pairs can be added up without
/// overflow. Empty and repeated dimensions take no memory that would bound them.
const MAX_EXTENT: usize = MAX_BYTES >> 3;

impl Problem {
    /// Checks shapes, strides, types and options against the rules that hold on every backend,
    /// and returns the sizes.
    ///
    /// ```
    /// use fa3::{DType, Options, Problem, Sizes};
    /// let sizes = Sizes { heads_k: 2, sk: 256, ..Sizes::new(2, 128, 8, 64) };
    /// let problem = Problem::dense(DType::Bf16, sizes, Options::default());
    /// assert_eq!(problem.dims()?.group, 4);
    /// let mut wrong = problem;
    /// wrong.k.layout.shape[2] = 3;
    /// assert!(wrong.dims().unwrap_err().to_string().contains("heads"));
    /// # Ok::<(), fa3::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Argument`] names the first argument that breaks a rule.
    pub fn dims(&self) -> Result<Dims> {
        self.check_types()?;
        let [batch, sq, heads_q, d] = self.q.layout.shape;
        let [_, sk, heads_k, dv] = self.v.layout.shape;
        self.check_shapes()?;
        for (argument, spec) in [("q.shape", &self.q), ("v.shape", &self.v)] {
            if spec.layout.shape.iter().any(|&extent| extent > MAX_EXTENT) {
                let rule = format!("an extent is at most {MAX_EXTENT}");
                return Err(Error::argument(argument, shape(spec), rule, "pass smaller extents"));
            }
        }
        if d == 0 {
            return Err(Error::argument("q.shape[3]", d, "a head has at least one dimension", "pass d ≥ 1"));
        }
        if dv == 0 {
            return Err(Error::argument(
                "v.shape[3]",
                dv,
                "a head has at least one dimension",
                "pass dv ≥ 1",
            ));
        }
        let group = group(heads_q, heads_k)?;
        for (argument, spec) in
            [("q.strides", &self.q), ("k.strides", &self.k), ("v.strides", &self.v), ("o.strides", &self.o)]
        {
            check_strides(argument, spec)?;
        }
        check_written_once(&self.o.layout)?;
        check_options(&self.options, d)?;
        let lse_len =
            batch.checked_mul(heads_q).and_then(|n| n.checked_mul(sq)).filter(|&n| n <= MAX_BYTES / 4);
        let lse_len = lse_len.ok_or_else(|| {
            Error::argument("q.shape", shape(&self.q), "the LSE must be addressable", "split the batch")
        })?;
        let (sequences, max_q, max_k) = self.check_sequences(batch, sq, sk)?;
        Ok(Dims { batch, sequences, sq, sk, max_q, max_k, heads_q, heads_k, group, d, dv, lse_len })
    }

    fn check_types(&self) -> Result<()> {
        if self.q.dtype == DType::I32 {
            return Err(Error::argument(
                "q.dtype",
                self.q.dtype,
                "attention is of floating-point numbers",
                "pass f32, f16 or bf16",
            ));
        }
        for (argument, spec) in [("k.dtype", &self.k), ("v.dtype", &self.v), ("o.dtype", &self.o)] {
            if spec.dtype != self.q.dtype {
                return Err(Error::argument(
                    argument,
                    spec.dtype,
                    format!("q is {}, and all four have one type", self.q.dtype),
                    "convert one of them",
                ));
            }
        }
        Ok(())
    }

    fn check_shapes(&self) -> Result<()> {
        let [batch, sq, heads_q, d] = self.q.layout.shape;
        let [_, sk, heads_k, _] = self.k.layout.shape;
        let dv = self.v.layout.shape[3];
        let expect = |argument, spec: &TensorSpec, wanted: [usize; 4], what: &str| {
            if spec.layout.shape == wanted {
                return Ok(());
            }
            Err(Error::argument(argument, shape(spec), what, format!("pass {wanted:?}")))
        };
        expect("k.shape", &self.k, [batch, sk, heads_k, d], "K has the batch and the head dimension of Q")?;
        expect(
            "v.shape",
            &self.v,
            [batch, sk, heads_k, dv],
            "V has the batch, the sequence and the heads of K",
        )?;
        expect(
            "o.shape",
            &self.o,
            [batch, sq, heads_q, dv],
            "O has the batch, the sequence and the heads of Q and the head dimension of V",
        )
    }

    fn check_sequences(&self, batch: usize, sq: usize, sk: usize) -> Result<(usize, usize, usize)> {
        let fits = |argument, n: usize| {
            if i32::try_from(n).is_ok() {
                return Ok(());
            }
            Err(Error::argument(
                argument,
                n,
                "lengths, offsets and counts of sequences are 32-bit",
                "split the batch",
            ))
        };
        match self.sequences {
            Sequences::Dense => Ok((batch, sq, sk)),
            Sequences::UsedKeys => fits("k.shape[1]", sk).map(|()| (batch, sq, sk)),
            Sequences::Packed { count, max_q, max_k } => {
                fits("q.shape[1]", sq)?;
                fits("k.shape[1]", sk)?;
                fits("sequences.count", count)?;
                if batch != 1 {
                    return Err(Error::argument(
                        "q.shape[0]",
                        batch,
                        "packed sequences are one batch entry",
                        "pass [1, total, heads, dim]",
                    ));
                }
                if count == 0 && (sq > 0 || sk > 0) {
                    return Err(Error::argument(
                        "sequences.count",
                        count,
                        format!("{sq} query and {sk} key tokens belong to some sequence"),
                        "pass how many sequences there are",
                    ));
                }
                for (argument, max, total) in [("sequences.max_q", max_q, sq), ("sequences.max_k", max_k, sk)]
                {
                    // The longest of `count` sequences is no shorter than their average.
                    if max > total || max.saturating_mul(count) < total {
                        return Err(Error::argument(
                            argument,
                            max,
                            format!(
                                "the longest of {count} sequences with {total} tokens in all lies between {} and {total}",
                                total.div_ceil(count.max(1))
                            ),
                            "pass the length of the longest sequence",
                        ));
                    }
                }
                Ok((count, max_q, max_k))
            }
        }
    }
}

pub(crate) fn shape(spec: &TensorSpec) -> String {
    format!("{:?}", spec.layout.shape)
}

fn group(heads_q: usize, heads_k: usize) -> Result<usize> {
    if heads_q == 0 {
        return Ok(1);
    }
    match heads_q.checked_rem(heads_k) {
        Some(0) => Ok(heads_q / heads_k),
        _ => Err(Error::argument(
            "k.shape[2]",
            heads_k,
            format!("the number of K's heads divides that of Q's heads, {heads_q}"),
            "pass a divisor",
        )),
    }
}

pub(crate) fn check_strides(argument: &'static str, spec: &TensorSpec) -> Result<()> {
    let Layout { shape, strides } = spec.layout;
    if shape[3] > 1 && strides[3] != 1 {
        return Err(Error::argument(
            argument,
            format!("{strides:?}"),
            "the elements of a head lie next to each other",
            "pass a last stride of 1, or copy the tensor",
        ));
    }
    let bytes = spec.layout.span().and_then(|span| span.checked_mul(spec.dtype.size()));
    if bytes.is_none_or(|bytes| bytes > MAX_BYTES) {
        return Err(Error::argument(
            argument,
            format!("{strides:?} with shape {shape:?}"),
            "a tensor spans fewer than 2^63 bytes",
            "pass smaller extents or strides",
        ));
    }
    Ok(())
}

/// Every element of O has an address of its own: ordered by stride, each dimension steps over all
/// that the smaller ones reach.
pub(crate) fn check_written_once(layout: &Layout) -> Result<()> {
    if layout.is_empty() {
        return Ok(());
    }
    let mut steps: Vec<(usize, usize)> =
        layout.strides.into_iter().zip(layout.shape).filter(|&(_, extent)| extent > 1).collect();
    steps.sort_unstable();
    let mut reach = 0usize;
    for (stride, extent) in steps {
        if stride <= reach {
            return Err(Error::argument(
                "o.strides",
                format!("{:?} with shape {:?}", layout.strides, layout.shape),
                "every element of O has an address of its own",
                "pass strides that each step over the dimensions within",
            ));
        }
        reach = reach.saturating_add((extent - 1).saturating_mul(stride));
    }
    Ok(())
}

fn check_options(options: &Options, d: usize) -> Result<()> {
    let scale = options.scale_for(d);
    if !scale.is_finite() {
        return Err(Error::argument(
            "options.scale",
            scale,
            "it is a finite number",
            "leave it out for 1/√d",
        ));
    }
    if let Some(cap) = options.softcap.filter(|cap| !(cap.is_finite() && *cap > 0.0)) {
        return Err(Error::argument(
            "options.softcap",
            cap,
            "it is a positive finite number",
            "pass None for no cap",
        ));
    }
    Ok(())
}
