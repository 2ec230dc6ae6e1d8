//! Tensor maps without a GPU: random legal ones are accepted, one step beyond each limit is refused
//! by name, and the suite that the driver is asked about covers both sides of every rule.

mod common;

use std::collections::BTreeMap;

use common::{
    ARCH, Answer, Args, CASES, PER_SIDE, SEED, Side, Wish, aim, legal, lines, parse, report, rules,
    side_counted, suite,
};
use fa3_sys::Arch;
use fa3_sys::tensormap::{Rule, TensorMapDesc};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

fn any_rule() -> impl Strategy<Value = Rule> {
    proptest::sample::select(rules().collect::<Vec<_>>())
}

proptest! {
    #[test]
    fn legal_maps_are_accepted(seed: u64) {
        let args = legal(&mut Pcg64Mcg::seed_from_u64(seed), &Wish::default());
        let desc = args.build().unwrap();
        prop_assert_eq!(desc.validate(args.address), Ok(()), "{}", args);
        prop_assert_eq!(desc.validate_shape(), Ok(()), "{}", args);
        prop_assert_eq!(desc.supported_on(Arch::Sm100a), Ok(()), "{}", args);
    }

    #[test]
    fn the_byte_form_gives_back_every_legal_map(seed: u64) {
        let args = legal(&mut Pcg64Mcg::seed_from_u64(seed), &Wish::default());
        let desc = args.build().unwrap();
        let map = desc.to_map_bytes(args.address).unwrap();
        prop_assert_eq!(TensorMapDesc::from_map_bytes(&map), Ok((desc, args.address)), "{}", args);
    }

    #[test]
    fn one_step_beyond_a_limit_is_refused_by_name(seed: u64, rule in any_rule()) {
        let args = aim(&mut Pcg64Mcg::seed_from_u64(seed), rule, Side::Illegal);
        let refused = match args.build() {
            Err(error) => error,
            Ok(desc) if rule == Rule::Architecture => desc.supported_on(ARCH).unwrap_err(),
            Ok(desc) => desc.validate(args.address).unwrap_err(),
        };
        prop_assert_eq!(refused.rule(), rule, "{}", args);
        let message = refused.to_string();
        prop_assert!(message.contains(refused.check().argument), "{}", message);
        prop_assert!(message.contains(&refused.check().value.to_string()), "{}", message);
        prop_assert!(message.contains("would do"), "{}", message);
    }

    #[test]
    fn the_last_step_before_a_limit_is_accepted(seed: u64, rule in any_rule()) {
        let args = aim(&mut Pcg64Mcg::seed_from_u64(seed), rule, Side::Legal);
        prop_assert_eq!(args.build().unwrap().validate(args.address), Ok(()), "{}", args);
    }

    #[test]
    fn a_legal_map_is_told_by_its_line(seed: u64) {
        prop_assert!(is_told_by_its_line(&legal(&mut Pcg64Mcg::seed_from_u64(seed), &Wish::default())));
    }
}

/// Whether its line gives the same description, address and rank.
fn is_told_by_its_line(args: &Args) -> bool {
    parse(&args.to_string()).is_some_and(|parsed| {
        (parsed.rank, parsed.address) == (args.rank, args.address)
            && parsed.build_clamped() == args.build_clamped()
    })
}

#[test]
fn every_map_of_the_suite_is_told_by_its_line() {
    for args in suite(SEED) {
        assert!(is_told_by_its_line(&args), "{args}");
    }
}

#[test]
fn the_suite_is_half_legal_and_covers_every_limit() {
    let suite = suite(SEED);
    assert_eq!(suite.len(), CASES);
    let accepted = suite.iter().filter(|args| args.verdict(ARCH).is_legal()).count();
    assert!(accepted * 2 >= CASES, "only {accepted} of {CASES} are legal");

    let mut counts: BTreeMap<Rule, [usize; 2]> = rules().map(|rule| (rule, [0, 0])).collect();
    for args in &suite {
        for (&rule, [legal, illegal]) in &mut counts {
            match side_counted(args, rule) {
                Some(Side::Legal) => *legal += 1,
                Some(Side::Illegal) => *illegal += 1,
                None => {}
            }
        }
    }
    for (rule, [legal, illegal]) in counts {
        assert!(legal + illegal >= 200, "{rule:?}: {legal} legal and {illegal} illegal at the limit");
        assert!(legal.min(illegal) >= PER_SIDE, "{rule:?}: {legal} legal and {illegal} illegal at the limit");
    }
}

#[test]
fn the_suite_is_the_same_for_the_same_seed() {
    assert_eq!(suite(SEED), suite(SEED));
    assert_ne!(suite(SEED), suite(SEED + 1));
}

#[test]
fn a_map_far_from_every_limit_counts_for_none() {
    let mut rng = Pcg64Mcg::seed_from_u64(SEED);
    let mut args: Args = legal(&mut rng, &Wish { im2col: Some(false), min_rank: 2, ..Wish::default() });
    args.rank = 3;
    args.data_type = fa3_sys::tensormap::DataType::F16;
    args.extents = [1000; 6];
    args.strides = [1 << 20; 6];
    args.box_extents = [16; 6];
    args.element_strides = [4; 6];
    args.interleave = Default::default();
    args.swizzle = Default::default();
    args.fill = Default::default();
    args.address = 1 << 20;
    for rule in rules() {
        assert_eq!(side_counted(&args, rule), None, "{rule:?}");
    }
    args.box_extents[1] = 257;
    assert_eq!(side_counted(&args, Rule::BoxRange), Some(Side::Illegal));
    args.address += 8;
    assert_eq!(side_counted(&args, Rule::BoxRange), None, "two rules are broken");
}

/// The answers of a driver that refuses what we refuse, but for `refuses`.
fn answers(refuses: impl Fn(&Args, bool) -> bool) -> Vec<Answer> {
    let answer = |args: Args| {
        let ours = args.verdict(ARCH);
        let code = u32::from(refuses(&args, !ours.is_legal()));
        Answer { args, ours, code }
    };
    suite(SEED).into_iter().map(answer).collect()
}

#[test]
fn a_report_names_what_the_driver_lacks_and_what_it_adds() {
    let same = answers(|_, refuses| refuses);
    assert!(same.iter().all(Answer::agrees));
    assert!(report(&same, ARCH).contains(" 0 verdicts differ"));
    assert!(!report(&same, ARCH).contains("<-"));

    // A driver without the rule on pixels, and with one on strides of 0.
    let other = answers(|args, refuses| {
        let verdict = args.verdict(ARCH);
        let pixels = !verdict.is_legal() && verdict.only(Rule::PixelRange);
        let zero = args.strides[..args.rank.saturating_sub(1).min(4)].contains(&0);
        (refuses && !pixels) || zero
    });
    let text = report(&other, ARCH);
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
    assert!(line("PixelRange").ends_with("does not know it"), "{text}");
    assert!(line("we refuse for PixelRange, the driver accepts").ends_with(char::is_numeric), "{text}");
    assert!(text.contains("we accept, at no limit in particular, the driver refuses"), "{text}");
    let mut traits = text.lines().skip_while(|line| !line.ends_with("  trait")).skip(1);
    assert!(traits.next().is_some_and(|line| line.ends_with("  a stride of 0")), "{text}");
    assert_eq!(lines(&other).lines().count(), CASES);
}
