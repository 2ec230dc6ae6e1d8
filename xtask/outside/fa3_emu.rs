//! What the emulator executes.

use fa3_emu::ir::{Class, Ty};

#[test]
fn types_say_their_registers() {
    assert_eq!(Ty::F32.class(), Class::B32);
}
