//! The forward kernels' problems.

use fa3_emu::ir::Program;
use fa3_emu::ptx;
use fa3_kernels::{ForwardKernel, forward_kernels};
use fa3_sys::Arch;

use super::kernel::prepare;
use super::problem;
use super::subject::{Problem, Subject};

/// The kernels that a predicate selects, one after the other.
pub fn subjects(which: impl Fn(&ForwardKernel) -> bool) -> impl Iterator<Item = Subject> {
    forward_kernels().filter(move |kernel| which(kernel)).map(subject)
}

/// A tile of rows whose last key tiles are masked and then a ragged one that ends in open key tiles,
/// so that both loops of a consumer run, both rings turn and Q's stage is used again; the same alone
/// in a CTA each; one tile of rows for which the rings turn twice; one key tile for each tile of rows,
/// so that a warpgroup can be a tile ahead; open key tiles only, with heads, groups and batches to
/// confuse; heads that share a tile and leave rows of it over, their scores edited; the same
/// with one key tile for each of many tiles, whose rows leave one by one; and a list of tiles of two
/// sequences, one of which uses fewer keys, with a window whose both edges cut tiles; and tiles of rows
/// whose warpgroups pass by key tiles of others.
fn subject(kernel: &ForwardKernel) -> Subject {
    let entry = fa3_kernels::entry(&kernel.symbol(), Arch::Sm90a).unwrap();
    let text = fa3_kernels::ptx(entry.symbol, entry.arch).unwrap();
    let program = Program::compile(&ptx::parse(text).unwrap(), entry.symbol).unwrap();
    let (rows, keys) = (kernel.tile_m() as usize, kernel.tile_n as usize);
    let base = problem::Problem {
        operand: kernel.operand,
        dim: kernel.head_dim as usize,
        value_dim: kernel.value_dim as usize,
        sq: rows + 72,
        sk: rows + 72 + keys / 2 + 1,
        causal: true,
        ..problem::Problem::PLAIN
    };
    let short = problem::Problem { sq: rows + 1, sk: keys - 9, ..base };
    let many = problem::Problem { batch: 2, sq: rows, sk: 2 * keys, heads_q: 2, causal: false, ..base };
    let long = problem::Problem { sq: rows - 60, sk: 4 * keys, causal: false, ..base };
    let packed = problem::Problem {
        heads_q: 7,
        sq: rows / 7 + 5,
        sk: 2 * keys,
        packed_heads: true,
        alibi: true,
        softcap: Some(3.0),
        sinks: true,
        causal: false,
        ..base
    };
    let brief = problem::Problem { sq: 6 * rows / 7, sk: keys - 9, sinks: false, softcap: None, ..packed };
    let ragged =
        problem::Problem { batch: 2, left: Some(2 * keys + 9), sk: 6 * keys + 9, ragged: true, ..base };
    // One key tile, more than a warpgroup's share of it beyond the sequence.
    let scant = problem::Problem { sk: keys / 2, ragged: true, ..base };
    // The last key tile is beyond all rows but the last warpgroup's, the first one before all but the first's.
    let apart =
        problem::Problem { batch: 2, sq: rows, sk: 4 * keys + 32, left: Some(3 * keys + 62 - rows), ..base };
    // One key tile for the first warpgroup, which passes by another: it does so while the last one writes.
    let near = problem::Problem { batch: 3, sq: rows, sk: keys + 32, ..base };
    let problems = [
        (base, 1),
        (base, 2),
        (long, 1),
        (short, 1),
        (many, 1),
        (many, 3),
        (packed, 1),
        (brief, 1),
        (ragged, 1),
        (scant, 1),
        (apart, 1),
        (near, 1),
    ];
    let problems = problems.map(|(problem, ctas)| {
        let mut operands = problem.operands();
        if problem.causal {
            mark_values(&problem, &mut operands.v);
        }
        let prepared = prepare(kernel, &problem, &operands, ctas);
        let name = format!("{} {problem:?} on {ctas} CTAs", entry.symbol);
        let launch = (prepared.launch, prepared.arguments);
        Problem::new(name, &program, launch, prepared.memory, &[prepared.o, prepared.lse])
    });
    Subject { name: entry.symbol, ptx: text, problems: problems.into() }
}

/// Puts an infinity into one column of each panel of 64 of V for every eight keys, half a step of a
/// product, another column each time. Where a row does not see such a key, its probability of zero
/// makes that column NaN: so the output shows which keys a product took, be they visible or not.
fn mark_values(problem: &problem::Problem, v: &mut [f32]) {
    let stride = problem.heads_k * problem.value_dim;
    for (step, key) in (5..problem.sk).step_by(8).enumerate() {
        for panel in (0..problem.value_dim).step_by(64) {
            let columns = 64.min(problem.value_dim - panel);
            v[key * stride + panel + (7 * step + 3) % columns] = f32::INFINITY;
        }
    }
}
