//! A sample that covers every kind.

use fa3_emu::mutation::Mutant;

/// Of each kind at most `each` mutants, drawn at random by a seed (splitmix64).
pub fn sample<'a>(mutants: Vec<Mutant<'a>>, each: usize, seed: u64) -> Vec<Mutant<'a>> {
    let mut state = seed;
    let mut draw = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let mut tickets: Vec<(u64, Mutant<'_>)> = mutants.into_iter().map(|mutant| (draw(), mutant)).collect();
    tickets.sort_by_key(|(ticket, mutant)| (mutant.kind, *ticket));
    let mut drawn: Vec<Mutant<'_>> = Vec::new();
    for (_, mutant) in tickets {
        if drawn.iter().filter(|other: &&Mutant<'_>| other.kind == mutant.kind).count() < each {
            drawn.push(mutant);
        }
    }
    drawn.sort_by_key(|mutant| mutant.line);
    drawn
}
