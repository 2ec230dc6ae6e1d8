//! Runs a kernel that takes a tensor map, and says what it found: `cargo run --example tile`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use fa3_emu::ir::Program;
use fa3_emu::{Launch, Memory, Options, Order, ptx, run};
use fa3_sys::tensormap::{DataType, TensorMapDesc};

fn main() -> Result<(), Box<dyn Error>> {
    let module = ptx::parse(include_str!("tile.ptx"))?;
    let program = Program::compile(&module, "tile")?;

    // A tensor of 50 rows of 100 numbers, of which the kernel copies a box of 8 by 16.
    let tensor: Vec<u8> = (0..5000_u16).flat_map(|i| f32::from(i).to_le_bytes()).collect();
    let mut memory = Memory::new();
    let tensor = memory.allocate(&tensor)?;
    let out = memory.allocate(&[0xff; 4 * 128])?;
    let map = TensorMapDesc::tiled(DataType::F32, &[100, 50], &[400], &[16, 8])?.to_map_bytes(tensor)?;

    let [column, row] = [92_u32, 45];
    let arguments: [&[u8]; 4] =
        [map.as_bytes(), &out.to_le_bytes(), &column.to_le_bytes(), &row.to_le_bytes()];
    let launch = Launch::new([1, 1, 1], [128, 1, 1]);
    // The tile lands as late as it may: a kernel that does not wait for it would find NaN.
    let options = Options { order: Order::Lazy, ..Options::default() };
    run(&program, &launch, &arguments, &mut memory, &options)?;
    for row in memory.read(out, 4 * 128)?.chunks_exact(4 * 16) {
        let numbers = row.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes));
        println!("{}", numbers.map(|number| format!("{number:5}")).collect::<String>());
    }
    Ok(())
}

#[test]
fn runs() -> Result<(), Box<dyn Error>> {
    main()
}
