//! `fa3_forward_args`, read and turned into what the Rust API takes.

use bytemuck::Zeroable;

use super::error::Failure;
use super::pointer::{self, optional};
use super::types::{
    BATCH_INVARIANT, BF16, CAUSAL, DENSE, F16, F32, FIRST_FORWARD_SIZE, PACKED, RawForward, RawTensor, SCALE,
    SOFTCAP, USED_KEYS, WINDOW,
};
use crate::{
    DType, Layout, Operands, Options, Place, Problem, Sequences, Tensor, TensorSpec, Window, Workspace,
};

/// One forward call.
pub(super) struct Request {
    pub(super) operands: Operands,
    pub(super) workspace: Workspace,
    sequences: Sequences,
    options: Options,
}

impl Request {
    pub(super) fn problem(&self) -> Problem {
        self.operands.problem(self.sequences, self.options)
    }

    /// # Safety
    /// `args` is null, misaligned, or of as many readable bytes as its first field says, at least
    /// that field, which nothing writes meanwhile.
    pub(super) unsafe fn read(args: *const RawForward, place: Place) -> Result<Self, Failure> {
        // SAFETY: as the caller says.
        let args = unsafe { sized(args)? };
        check_flags(&args)?;
        let operands = Operands {
            q: tensor("q", &args.q, place)?,
            k: tensor("k", &args.k, place)?,
            v: tensor("v", &args.v, place)?,
            o: tensor("o", &args.o, place)?,
            lse: optional(args.lse, place),
            sinks: optional(args.sinks, place),
            alibi: optional(args.alibi_slopes, place),
            used_k: optional(args.used_k, place),
            cu_q: optional(args.cu_q, place),
            cu_k: optional(args.cu_k, place),
        };
        let window = |keys: i64| usize::try_from(keys).ok();
        let has = |flag| args.flags & flag != 0;
        let options = Options {
            scale: has(SCALE).then_some(args.scale),
            causal: has(CAUSAL),
            window: if has(WINDOW) {
                Window { left: window(args.window_left), right: window(args.window_right) }
            } else {
                Window::default()
            },
            softcap: has(SOFTCAP).then_some(args.softcap),
            batch_invariant: has(BATCH_INVARIANT),
        };
        let workspace = workspace(&args, place)?;
        Ok(Self { operands, workspace, sequences: sequences(&args)?, options })
    }
}

/// No structure of this API becomes larger; a size beyond it is no size.
const MOST_SIZE: usize = 1 << 14;

/// The structure, as far as the caller has it; zero beyond.
///
/// # Safety
/// As [`Request::read`].
unsafe fn sized(args: *const RawForward) -> Result<RawForward, Failure> {
    pointer::check(args, "args", "the address of a fa3_forward_args")?;
    // SAFETY: neither null nor misaligned, so of at least its first field, as the caller says.
    let given = unsafe { args.cast::<usize>().read() };
    let known = size_of::<RawForward>();
    if !(FIRST_FORWARD_SIZE..=MOST_SIZE).contains(&given) {
        let rule = format!("the structure has at least {FIRST_FORWARD_SIZE} bytes, {known} in this library");
        return Err(Failure::StructSize { given, rule });
    }
    // SAFETY: that many bytes, as the caller says. Padding, which this structure has none of up to
    // its known size, and fields of a later version are read as C initialised them.
    let bytes = unsafe { core::slice::from_raw_parts(args.cast::<u8>(), given) };
    let (ours, beyond) = bytes.split_at(known.min(given));
    if let Some(set) = beyond.iter().position(|&byte| byte != 0) {
        let offset = known.saturating_add(set);
        let rule = format!(
            "this library ({}) knows {known} bytes of it, and byte {offset} is set, which it cannot honour",
            env!("CARGO_PKG_VERSION")
        );
        return Err(Failure::StructSize { given, rule });
    }
    let mut read = RawForward::zeroed();
    // SAFETY: `ours` is no longer than the structure and apart from it, and every bit pattern is a
    // value of its fields: integers, floats and pointers that are not followed here.
    unsafe { core::ptr::copy_nonoverlapping(ours.as_ptr(), (&raw mut read).cast::<u8>(), ours.len()) };
    Ok(read)
}

/// Known flags only, and nothing set that a missing flag would make ignored.
fn check_flags(args: &RawForward) -> Result<(), Failure> {
    const KNOWN: u32 = CAUSAL | WINDOW | SCALE | SOFTCAP | BATCH_INVARIANT;
    let unknown = args.flags & !KNOWN;
    if unknown != 0 {
        let rule = format!("this library knows the bits {KNOWN:#x} of it");
        return Err(Failure::argument(
            "args.flags",
            format!("{:#x}", args.flags),
            rule,
            "leave the others out",
        ));
    }
    let unused = |argument: &'static str, value: String, rule| {
        Err(Failure::argument(argument, value, rule, "add the flag, or set the field to 0"))
    };
    if args.flags & WINDOW == 0 {
        let rule = "it means nothing without FA3_WINDOW among the flags";
        for (argument, value) in
            [("args.window_left", args.window_left), ("args.window_right", args.window_right)]
        {
            if value != 0 {
                return unused(argument, value.to_string(), rule);
            }
        }
    }
    if args.flags & SCALE == 0 && args.scale != 0.0 {
        return unused(
            "args.scale",
            args.scale.to_string(),
            "it means nothing without FA3_SCALE among the flags",
        );
    }
    if args.flags & SOFTCAP == 0 && args.softcap != 0.0 {
        let rule = "it means nothing without FA3_SOFTCAP among the flags";
        return unused("args.softcap", args.softcap.to_string(), rule);
    }
    Ok(())
}

fn tensor(name: &'static str, raw: &RawTensor, place: Place) -> Result<Tensor, Failure> {
    let dtype = match raw.dtype {
        F16 => DType::F16,
        BF16 => DType::Bf16,
        F32 => DType::F32,
        other => {
            let rule = "it must be FA3_F16, FA3_BF16 or FA3_F32";
            return Err(Failure::argument(format!("{name}.dtype"), other, rule, "pass one of these"));
        }
    };
    if raw.reserved != 0 {
        let rule = "it is reserved";
        return Err(Failure::argument(format!("{name}.reserved"), raw.reserved, rule, "set it to 0"));
    }
    let layout = Layout {
        shape: unsigned(name, "shape", raw.shape)?,
        strides: unsigned(name, "strides", raw.strides)?,
    };
    Ok(Tensor { pointer: pointer::device(raw.data, place), spec: TensorSpec { dtype, layout } })
}

fn unsigned(name: &str, field: &str, values: [i64; 4]) -> Result<[usize; 4], Failure> {
    let mut converted = [0; 4];
    for (axis, (to, from)) in converted.iter_mut().zip(values).enumerate() {
        *to = count(from, || format!("{name}.{field}[{axis}]"))?;
    }
    Ok(converted)
}

/// A number of things.
fn count(value: i64, argument: impl FnOnce() -> String) -> Result<usize, Failure> {
    usize::try_from(value).map_err(|_| {
        let rule = "it is not negative, and within the address space";
        Failure::argument(argument(), value, rule, "pass such a number")
    })
}

fn sequences(args: &RawForward) -> Result<Sequences, Failure> {
    let lengths = [("args.count", args.count), ("args.max_q", args.max_q), ("args.max_k", args.max_k)];
    let unused = lengths.into_iter().find(|(_, value)| args.sequences != PACKED && *value != 0);
    if let Some((argument, value)) = unused {
        let rule = "it means nothing unless sequences is FA3_PACKED";
        return Err(Failure::argument(argument, value, rule, "set it to 0"));
    }
    match args.sequences {
        DENSE => Ok(Sequences::Dense),
        USED_KEYS => Ok(Sequences::UsedKeys),
        PACKED => {
            let [count, max_q, max_k] = lengths.map(|(argument, value)| count(value, || argument.to_owned()));
            Ok(Sequences::Packed { count: count?, max_q: max_q?, max_k: max_k? })
        }
        other => {
            let rule = "it must be FA3_DENSE, FA3_USED_KEYS or FA3_PACKED";
            Err(Failure::argument("args.sequences", other, rule, "pass one of these"))
        }
    }
}

fn workspace(args: &RawForward, place: Place) -> Result<Workspace, Failure> {
    match optional(args.workspace, place) {
        Some(pointer) => Ok(Workspace::Caller { pointer, bytes: args.workspace_bytes }),
        None if args.workspace_bytes == 0 => Ok(Workspace::Own),
        None => Err(Failure::Null {
            argument: "args.workspace",
            remedy: "the address of args.workspace_bytes bytes, or set that to 0",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pointer;

    const PLACE: Place = Place::Mock;

    /// An address that is only passed on.
    fn at(address: u64) -> Option<Pointer> {
        Some(Pointer { address, place: PLACE })
    }

    fn raw() -> RawForward {
        let tensor = |address: usize, shape, strides| RawTensor {
            data: core::ptr::without_provenance_mut(address),
            dtype: BF16,
            reserved: 0,
            shape,
            strides,
        };
        RawForward {
            struct_size: size_of::<RawForward>(),
            q: tensor(16, [1, 2, 3, 4], [5, 6, 7, 1]),
            k: tensor(32, [8, 9, 10, 11], [12, 13, 14, 1]),
            v: tensor(48, [15, 16, 17, 18], [19, 20, 21, 1]),
            o: tensor(64, [22, 23, 24, 25], [26, 27, 28, 1]),
            ..RawForward::zeroed()
        }
    }

    fn read(raw: &RawForward) -> Request {
        // SAFETY: a whole structure.
        unsafe { Request::read(raw, PLACE) }.unwrap()
    }

    #[test]
    fn zeros_are_plain_attention() {
        let request = read(&raw());
        let problem = request.problem();
        assert_eq!(problem.options, Options::default());
        assert_eq!(problem.sequences, Sequences::Dense);
        assert_eq!(request.workspace, Workspace::Own);
        let Operands { q, k, v, o, lse, sinks, alibi, used_k, cu_q, cu_k } = request.operands;
        assert_eq!([lse, sinks, alibi, used_k, cu_q, cu_k], [None; 6]);
        let all = [q, k, v, o].map(|tensor| (tensor.pointer.address, tensor.spec.layout));
        let layout = |shape, strides| Layout { shape, strides };
        assert_eq!(
            all,
            [
                (16, layout([1, 2, 3, 4], [5, 6, 7, 1])),
                (32, layout([8, 9, 10, 11], [12, 13, 14, 1])),
                (48, layout([15, 16, 17, 18], [19, 20, 21, 1])),
                (64, layout([22, 23, 24, 25], [26, 27, 28, 1])),
            ]
        );
    }

    #[test]
    fn each_flag_is_its_option() {
        let with = |flags, change: fn(&mut RawForward)| {
            let mut raw = RawForward { flags, ..raw() };
            change(&mut raw);
            read(&raw).problem().options
        };
        let plain = Options::default();
        assert_eq!(with(CAUSAL, |_| {}), Options { causal: true, ..plain });
        assert_eq!(with(BATCH_INVARIANT, |_| {}), Options { batch_invariant: true, ..plain });
        assert_eq!(with(SCALE, |raw| raw.scale = -0.5), Options { scale: Some(-0.5), ..plain });
        assert_eq!(with(SCALE, |_| {}), Options { scale: Some(0.0), ..plain });
        assert_eq!(with(SOFTCAP, |raw| raw.softcap = 30.0), Options { softcap: Some(30.0), ..plain });
        let window = |left, right| Options { window: Window { left, right }, ..plain };
        assert_eq!(with(WINDOW, |_| {}), window(Some(0), Some(0)));
        let sides = |raw: &mut RawForward| (raw.window_left, raw.window_right) = (3, -1);
        assert_eq!(with(WINDOW, sides), window(Some(3), None));
        let sides = |raw: &mut RawForward| (raw.window_left, raw.window_right) = (i64::MIN, i64::MAX);
        assert_eq!(with(WINDOW, sides), window(None, Some(i64::MAX as usize)));
    }

    #[test]
    fn arrays_lengths_and_workspace_arrive_where_they_belong() {
        let request = read(&RawForward {
            sequences: PACKED,
            lse: core::ptr::without_provenance_mut(1),
            sinks: core::ptr::without_provenance(2),
            alibi_slopes: core::ptr::without_provenance(3),
            used_k: core::ptr::without_provenance(4),
            cu_q: core::ptr::without_provenance(5),
            cu_k: core::ptr::without_provenance(6),
            count: 7,
            max_q: 8,
            max_k: 9,
            workspace: core::ptr::without_provenance_mut(256),
            workspace_bytes: 10,
            ..raw()
        });
        let Operands { lse, sinks, alibi, used_k, cu_q, cu_k, .. } = request.operands;
        assert_eq!([lse, sinks, alibi, used_k, cu_q, cu_k], [1, 2, 3, 4, 5, 6].map(at));
        let problem = request.problem();
        assert!(problem.lse && problem.sinks && problem.alibi);
        assert_eq!(problem.sequences, Sequences::Packed { count: 7, max_q: 8, max_k: 9 });
        let pointer = Pointer { address: 256, place: PLACE };
        assert_eq!(request.workspace, Workspace::Caller { pointer, bytes: 10 });
        let used = read(&RawForward { sequences: USED_KEYS, ..raw() });
        assert_eq!(used.problem().sequences, Sequences::UsedKeys);
    }
}
