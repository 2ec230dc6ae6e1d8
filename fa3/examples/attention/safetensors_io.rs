//! Reading and writing safetensors files.

use std::borrow::Cow;
use std::path::Path;
use std::{fs, io};

use fa3::{DType, Element};
use half::{bf16, f16};
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, View, serialize, serialize_to_file};

use crate::input::{Array, Input, InputError, Lengths, collect};

/// Q, K and V of a layer of a real model (MiniLM-L6, 12 heads of 32), four sequences of unequal
/// length, with the O and LSE that 64-bit arithmetic gives.
const REAL_DATA: &[u8] = include_bytes!("../../tests/data/minilm_layer0.safetensors");

/// The real data that comes with the crate.
pub fn real_data() -> Result<Input, InputError> {
    parse("real attention inputs (MiniLM-L6, layer 0)", REAL_DATA)
}

/// Reads a file.
pub fn read(path: &Path) -> Result<Input, InputError> {
    let bytes = fs::read(path).map_err(|source| InputError::File { path: path.to_owned(), source })?;
    parse(&path.display().to_string(), &bytes)
}

/// Reads the contents of a file.
pub fn parse(origin: &str, bytes: &[u8]) -> Result<Input, InputError> {
    let file = SafeTensors::deserialize(bytes)
        .map_err(|error| InputError::Format { origin: origin.to_owned(), why: error.to_string() })?;
    let file = File { origin, file };
    let (q, k, v) = (file.tensor("q")?, file.tensor("k")?, file.tensor("v")?);
    let packed = file.rank("q")? == 3;
    let lengths = file.lengths(packed, [q.shape[1], k.shape[1]])?;
    let floats = |name| file.optional(name, |view| floats(view).map_err(|rule| file.wrong(name, view, rule)));
    let rows = q.shape[0] * q.shape[1] * q.shape[2];
    let o = floats("o")?;
    file.expect_len("o", o.as_deref(), rows * v.shape[3])?;
    let lse = floats("lse")?;
    file.expect_len("lse", lse.as_deref(), rows)?;
    Ok(Input {
        source: origin.to_owned(),
        sinks: floats("sinks")?,
        alibi: floats("alibi")?,
        q,
        k,
        v,
        lengths,
        o,
        lse,
    })
}

struct File<'a> {
    origin: &'a str,
    file: SafeTensors<'a>,
}

impl File<'_> {
    fn wrong(&self, name: &str, view: &TensorView<'_>, rule: impl Into<String>) -> InputError {
        let value = format!("{:?} {:?}", view.dtype(), view.shape());
        InputError::Tensor { origin: self.origin.to_owned(), name: name.to_owned(), value, rule: rule.into() }
    }

    fn view(&self, name: &str) -> Result<TensorView<'_>, InputError> {
        self.file.tensor(name).map_err(|_| {
            let mut found = self.file.names();
            found.sort_unstable();
            InputError::Missing {
                origin: self.origin.to_owned(),
                name: name.to_owned(),
                found: if found.is_empty() { "none".to_owned() } else { found.join(", ") },
            }
        })
    }

    fn rank(&self, name: &str) -> Result<usize, InputError> {
        Ok(self.view(name)?.shape().len())
    }

    fn tensor(&self, name: &str) -> Result<Array, InputError> {
        let view = self.view(name)?;
        let dtype = match view.dtype() {
            Dtype::F32 => DType::F32,
            Dtype::F16 => DType::F16,
            Dtype::BF16 => DType::Bf16,
            _ => return Err(self.wrong(name, &view, "attention is of f32, f16 or bf16")),
        };
        let shape = match *view.shape() {
            [batch, sequence, heads, dim] => [batch, sequence, heads, dim],
            [total, heads, dim] => [1, total, heads, dim],
            _ => {
                let rule = "it is [batch, sequence, heads, dim], or packed [total, heads, dim]";
                return Err(self.wrong(name, &view, rule));
            }
        };
        Ok(Array { dtype, shape, bytes: view.data().to_vec() })
    }

    fn optional<T>(
        &self,
        name: &str,
        read: impl Fn(&TensorView<'_>) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        self.file.tensor(name).ok().map(|view| read(&view)).transpose()
    }

    fn expect_len(&self, name: &str, values: Option<&[f32]>, wanted: usize) -> Result<(), InputError> {
        match values {
            Some(values) if values.len() != wanted => {
                Err(self.wrong(name, &self.view(name)?, format!("it has {wanted} elements for this q and v")))
            }
            _ => Ok(()),
        }
    }

    fn integers(&self, name: &str) -> Result<Option<Vec<i32>>, InputError> {
        self.optional(name, |view| {
            let wrong = |rule| self.wrong(name, view, rule);
            match view.dtype() {
                Dtype::I32 => Ok(collect(view.data()).collect()),
                Dtype::I64 => {
                    let narrow = collect::<i64>(view.data()).map(i32::try_from);
                    narrow.collect::<Result<_, _>>().map_err(|_| wrong("lengths fit 32 bits"))
                }
                _ => Err(wrong("lengths are i32 or i64")),
            }
        })
    }

    fn lengths(&self, packed: bool, totals: [usize; 2]) -> Result<Lengths, InputError> {
        let used = self.integers("used_k")?;
        let both = self.integers("cu_seqlens")?;
        let cu_q = self.integers("cu_seqlens_q")?.or_else(|| both.clone());
        let cu_k = self.integers("cu_seqlens_k")?.or(both);
        match (packed, cu_q, cu_k, used) {
            (true, Some(cu_q), Some(cu_k), None) => Ok(Lengths::Packed { cu_q, cu_k }),
            // One sequence.
            (true, None, None, None) => {
                let end = |total: usize| i32::try_from(total).unwrap_or(i32::MAX);
                let [cu_q, cu_k] = totals.map(|total| vec![0, end(total)]);
                Ok(Lengths::Packed { cu_q, cu_k })
            }
            (false, None, None, Some(used)) => Ok(Lengths::UsedKeys(used)),
            (false, None, None, None) => Ok(Lengths::Dense),
            (packed, ..) => {
                let rule = if packed {
                    "packed tensors come with cu_seqlens, or cu_seqlens_q and cu_seqlens_k, and without used_k"
                } else {
                    "cu_seqlens belong to packed tensors [total, heads, dim]"
                };
                Err(self.wrong("q", &self.view("q")?, rule))
            }
        }
    }
}

fn floats(view: &TensorView<'_>) -> Result<Vec<f32>, &'static str> {
    fn widen<T: Element>(bytes: &[u8]) -> Vec<f32> {
        collect::<T>(bytes).map(T::to_f32).collect()
    }
    match view.dtype() {
        Dtype::F32 => Ok(widen::<f32>(view.data())),
        Dtype::F16 => Ok(widen::<f16>(view.data())),
        Dtype::BF16 => Ok(widen::<bf16>(view.data())),
        _ => Err("it is f32, f16 or bf16"),
    }
}

/// A tensor to be written.
struct Written<'a> {
    dtype: DType,
    shape: Vec<usize>,
    bytes: &'a [u8],
}

impl View for Written<'_> {
    fn dtype(&self) -> Dtype {
        match self.dtype {
            DType::F16 => Dtype::F16,
            DType::Bf16 => Dtype::BF16,
            DType::I32 => Dtype::I32,
            _ => Dtype::F32,
        }
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.bytes.into()
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// A file appears whole or not at all, by a new one in its place; a pipe or a device is written to.
fn write(path: &Path, tensors: Vec<(&str, Written<'_>)>) -> Result<(), InputError> {
    let written = if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        serialize(tensors, None).map_err(io::Error::other).and_then(|bytes| fs::write(path, bytes))
    } else {
        serialize_to_file(tensors, None, path).map_err(io::Error::other)
    };
    written.map_err(|source| InputError::File { path: path.to_owned(), source })
}

/// Writes q, k and v.
pub fn write_input(path: &Path, input: &Input) -> Result<(), InputError> {
    fn tensor(array: &Array) -> Written<'_> {
        Written { dtype: array.dtype, shape: array.shape.to_vec(), bytes: &array.bytes }
    }
    let tensors = vec![("q", tensor(&input.q)), ("k", tensor(&input.k)), ("v", tensor(&input.v))];
    write(path, tensors)
}

/// Writes `o`, laid out as the input's Q was, and `lse`.
pub fn write_output<T: Element>(path: &Path, input: &Input, o: &[T], lse: &[f32]) -> Result<(), InputError> {
    let [batch, sq, heads, _] = input.q.shape;
    let dv = input.v.shape[3];
    let packed = matches!(input.lengths, Lengths::Packed { .. });
    let (o_shape, lse_shape) = if packed {
        (vec![sq, heads, dv], vec![heads, sq])
    } else {
        (vec![batch, sq, heads, dv], vec![batch, heads, sq])
    };
    let o = Written { dtype: T::DTYPE, shape: o_shape, bytes: bytemuck::cast_slice(o) };
    let lse = Written { dtype: DType::F32, shape: lse_shape, bytes: bytemuck::cast_slice(lse) };
    write(path, vec![("o", o), ("lse", lse)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(tensors: &[(&str, Dtype, &[usize])]) -> Vec<u8> {
        let views = tensors.iter().map(|&(name, dtype, shape)| {
            let bytes = shape.iter().product::<usize>() * dtype.bitsize() / 8;
            (name, dtype, shape, vec![0u8; bytes])
        });
        let views: Vec<_> = views.collect();
        let views = views.iter().map(|(name, dtype, shape, bytes)| {
            (*name, TensorView::new(*dtype, shape.to_vec(), bytes).unwrap())
        });
        serialize(views, None).unwrap()
    }

    fn refused(tensors: &[(&str, Dtype, &[usize])]) -> String {
        match parse("test.safetensors", &file(tensors)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("{tensors:?} is accepted"),
        }
    }

    const Q: (&str, Dtype, &[usize]) = ("q", Dtype::BF16, &[2, 3, 4, 8]);
    const K: (&str, Dtype, &[usize]) = ("k", Dtype::BF16, &[2, 5, 2, 8]);
    const V: (&str, Dtype, &[usize]) = ("v", Dtype::BF16, &[2, 5, 2, 8]);

    #[test]
    fn dense_and_packed_files_are_read() {
        let input = parse("t", &file(&[Q, K, V, ("o", Dtype::F32, &[2, 3, 4, 8])])).unwrap();
        assert!(matches!(input.lengths, Lengths::Dense) && input.o.is_some() && input.lse.is_none());
        let packed =
            [("q", Dtype::F16, &[6, 2, 8][..]), ("k", Dtype::F16, &[6, 2, 8]), ("v", Dtype::F16, &[6, 2, 8])];
        let input = parse("t", &file(&packed)).unwrap();
        assert_eq!(input.q.shape, [1, 6, 2, 8]);
        assert!(matches!(input.lengths, Lengths::Packed { cu_q, .. } if cu_q == [0, 6]));
        let input = real_data().unwrap();
        assert!(matches!(input.lengths, Lengths::Packed { cu_k, .. } if cu_k == [0, 512, 641, 658, 659]));
    }

    #[test]
    fn bad_files_are_refused_by_name() {
        assert!(parse("t", b"no header").is_err());
        assert!(refused(&[Q, V]).contains("no tensor `k`"), "{}", refused(&[Q, V]));
        let wrong_type = refused(&[("q", Dtype::I32, &[2, 3, 4, 8]), K, V]);
        assert!(wrong_type.contains("tensor `q` is I32"), "{wrong_type}");
        let wrong_rank = refused(&[("q", Dtype::F32, &[3, 4]), K, V]);
        assert!(wrong_rank.contains("packed [total, heads, dim]"), "{wrong_rank}");
        let wrong_output = refused(&[Q, K, V, ("o", Dtype::F32, &[7])]);
        assert!(wrong_output.contains("tensor `o`"), "{wrong_output}");
        let wrong_lengths = refused(&[Q, K, V, ("cu_seqlens", Dtype::I32, &[3])]);
        assert!(wrong_lengths.contains("cu_seqlens belong to packed"), "{wrong_lengths}");
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_is_written_to_and_stays_a_pipe() {
        use std::os::unix::fs::FileTypeExt;
        let path = std::env::temp_dir().join(format!("fa3-pipe-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || fs::read(path).unwrap()
        });
        let input = real_data().unwrap();
        write_input(&path, &input).unwrap();
        assert!(fs::metadata(&path).unwrap().file_type().is_fifo());
        let read = parse("the pipe", &reader.join().unwrap()).unwrap();
        assert_eq!((read.q.shape, read.v.bytes), (input.q.shape, input.v.bytes));
        fs::remove_file(path).unwrap();
    }
}
