//! The kernels of `fa3-tma/examples` on small shapes, every check on, under several orders of delivery.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what fails here fails the test")]

mod ceiling;

use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, Options, Order, ptx, run};
use fa3_sys::Arch;
use fa3_sys::tensormap::TensorMapDesc;
use fa3_tma_examples::{Gemm, Plan, Transpose};
use half::bf16;

const ORDERS: [Order; 6] =
    [Order::Eager, Order::Lazy, Order::Seeded(1), Order::Seeded(2), Order::Seeded(3), Order::Seeded(4)];
/// Few, so that CTAs persist over several tiles.
const SMS: u32 = 2;
/// What memory holds that nobody should write.
const UNTOUCHED: bf16 = bf16::from_bits(0xa5a5);

/// Numbers in quarters, small enough that sums of products are exact in f32.
fn values(count: u64, seed: u64) -> Vec<bf16> {
    let value = |i: u64| (((i + seed) * 2_654_435_761) >> 7) % 17;
    (0..count).map(|i| bf16::from_f32((value(i) as f32 - 8.0) / 4.0)).collect()
}

fn elements(bytes: &[u8]) -> Vec<bf16> {
    bytes.chunks_exact(2).map(|pair| bf16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// Runs a plan whose maps lie at these addresses.
fn launch<P: bytemuck::NoUninit, const N: usize>(
    plan: &Plan<P, N>,
    addresses: [u64; N],
    memory: &mut Memory,
    order: Order,
) {
    let text = fa3_tma_examples::ptx(plan.symbol, Arch::Sm90a).unwrap();
    let program = Program::compile(&ptx::parse(text).unwrap(), plan.symbol).unwrap();
    let encoded =
        |(map, address): (&TensorMapDesc, u64)| map.to_map_bytes(address).unwrap().as_bytes().to_vec();
    let mut arguments: Vec<Vec<u8>> = plan.maps.iter().zip(addresses).map(encoded).collect();
    arguments.push(bytemuck::bytes_of(&plan.params).to_vec());
    let arguments: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
    let launch =
        Launch { dynamic_shared: plan.shared_bytes, ..Launch::new([plan.grid, 1, 1], [plan.threads, 1, 1]) };
    run(&program, &launch, &arguments, memory, &Options { order, ..Options::default() })
        .unwrap_or_else(|error| panic!("{} {order}: {error}", plan.symbol));
}

fn multiply(gemm: Gemm, order: Order) {
    let Gemm { m, n, k, bias, strides: [stride_a, stride_b, stride_c] } = gemm;
    let (a, b) = (values(m * stride_a, 1), values(n * stride_b, 2));
    let biases: Vec<f32> = (0..n).map(|column| column as f32 % 7.0 - 3.0).collect();
    let mut memory = Memory::new();
    let plan = gemm.plan(SMS).unwrap();
    let c = vec![UNTOUCHED; (m * stride_c) as usize];
    let mut allocate = |bytes: &[u8]| memory.allocate(bytes).unwrap();
    let addresses = [
        allocate(bytemuck::cast_slice(&a)),
        allocate(bytemuck::cast_slice(&b)),
        allocate(bytemuck::cast_slice(&biases)),
        allocate(bytemuck::cast_slice(&c)),
    ];
    launch(&plan, addresses, &mut memory, order);
    let bytes = memory.read(addresses[3], 2 * c.len()).unwrap();
    let found = elements(bytes);
    for (row, found) in found.chunks(stride_c as usize).enumerate() {
        for (column, &found) in found.iter().enumerate() {
            if column as u64 >= n.next_multiple_of(8) {
                assert_eq!(found.to_bits(), UNTOUCHED.to_bits(), "{gemm:?} wrote at {row}, {column}");
            }
            if column as u64 >= n {
                continue;
            }
            let (a, b) = (&a[row * stride_a as usize..], &b[column * stride_b as usize..]);
            let products = a.iter().zip(b).take(k as usize).map(|(a, b)| a.to_f32() * b.to_f32());
            let exact = products.sum::<f32>() + if bias { biases[column] } else { 0.0 };
            assert_eq!(found, bf16::from_f32(exact), "{gemm:?} {order} at {row}, {column}");
        }
    }
}

#[test]
fn products_of_every_edge_are_exact() {
    // Every edge; then more tiles a CTA than slots for biases; then more than one band of tiles.
    let shapes = [
        (1, 1, 8),
        (64, 64, 64),
        (128, 256, 64),
        (129, 257, 72),
        (300, 200, 328),
        (70, 520, 136),
        (300, 600, 72),
        (2060, 260, 8),
    ];
    for (shape, order) in shapes.into_iter().flat_map(|shape| ORDERS.map(|order| (shape, order))) {
        let (m, n, k) = shape;
        let plain = Gemm::new(m, n, k);
        multiply(plain, order);
        let [a, b, c] = plain.strides;
        multiply(Gemm { bias: true, strides: [a + 8, b + 16, c + 24], ..plain }, order);
    }
}

fn transpose(problem: Transpose, order: Order) {
    let Transpose { batch, rows, columns, scale, input, output } = problem;
    let tensor = values(batch * input[0], 3);
    let mut memory = Memory::new();
    let written = vec![UNTOUCHED; (batch * output[0]) as usize];
    let addresses = [&tensor, &written].map(|data| memory.allocate(bytemuck::cast_slice(data)).unwrap());
    launch(&problem.plan().unwrap(), addresses, &mut memory, order);
    let bytes = memory.read(addresses[1], 2 * written.len()).unwrap();
    let found = elements(bytes);
    for (b, c, r) in
        (0..batch).flat_map(|b| (0..columns).flat_map(move |c| (0..rows).map(move |r| (b, c, r))))
    {
        let from = tensor[(b * input[0] + r * input[1] + c) as usize].to_f32();
        let to = found[(b * output[0] + c * output[1] + r) as usize];
        assert_eq!(to, bf16::from_f32(from * scale), "{problem:?} {order} at {b}, {c}, {r}");
    }
    let ([matrix, row], beyond) = (output.map(|stride| stride as usize), rows.next_multiple_of(8) as usize);
    let written = |at: usize| at % matrix / row < columns as usize && at % matrix % row < beyond;
    let stray = (0..found.len()).find(|&at| !written(at) && found[at].to_bits() != UNTOUCHED.to_bits());
    assert_eq!(stray, None, "{problem:?} wrote there");
}

#[test]
fn transposes_of_every_edge_are_exact() {
    for order in ORDERS {
        for (batch, rows, columns) in [(1, 1, 1), (1, 64, 64), (2, 65, 130), (3, 300, 40), (1, 700, 72)] {
            let plain = Transpose::new(batch, rows, columns, 0.5);
            transpose(plain, order);
            let wider = |[matrix, row]: [u64; 2], count: u64| [matrix + 16 * count + 32, row + 16];
            let (input, output) = (wider(plain.input, rows), wider(plain.output, columns));
            transpose(Transpose { scale: -2.0, input, output, ..plain }, order);
        }
    }
}
