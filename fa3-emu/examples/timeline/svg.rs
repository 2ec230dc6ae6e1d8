//! Rows of bars over an axis of cycles, as SVG that reads on light and on dark ground.

use std::fmt::Write as _;

use crate::picture::{Bar, Row};

const LEFT: f64 = 166.0;
const WIDTH: f64 = 1200.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 72.0;
const ROW: f64 = 46.0;
const BAR: f64 = 28.0;
/// A wait is drawn as a line of this height.
const WAIT: f64 = 6.0;
/// Pixels that a character of a label takes.
const CHARACTER: f64 = 6.5;

const STYLE: &str = "\
text{font:12px Helvetica,Arial,sans-serif;fill:#1f2328}\
.title{font-size:16px;font-weight:600}.name{font-size:14px;font-weight:600}.note{font-size:11px;fill:#59636e}\
.in{fill:#fff;text-anchor:middle}.on{fill:#1f2328;text-anchor:middle}\
.ground{fill:#fff}.grid{stroke:#d1d9e0}.tick{font-size:11px;fill:#59636e;text-anchor:middle}\
.q{fill:#8250df}.k{fill:#57606a}.v{fill:#8c959f}\
.s0{fill:#0969da}.p0{fill:#54aeff}.softmax0{fill:#0550ae}\
.s1{fill:#bc4c00}.p1{fill:#fb8f44}.softmax1{fill:#953800}\
.run{fill:#6e7781}.wait-own{fill:#afb8c1}.wait-turn{fill:#d4a72c}.wait-tiles{fill:#d8b9ff}\
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.note,.tick{fill:#9198a1}.in{fill:#fff}.on{fill:#0d1117}\
.ground{fill:#0d1117}.grid{stroke:#3d444d}.wait-own{fill:#57606a}.wait-tiles{fill:#6e40c9}\
.softmax0{fill:#1158c7}.softmax1{fill:#a04100}}";

const LEGEND: [(&[&str], &str); 8] = [
    (&["s0", "s1"], "scores S = Q·Kᵀ"),
    (&["p0", "p1"], "products P·V"),
    (&["softmax0", "softmax1"], "softmax"),
    (&["run"], "other instructions"),
    (&["wait-own"], "waits for its products or stores"),
    (&["wait-turn"], "waits for its turn"),
    (&["wait-tiles"], "waits for a tile or a free stage"),
    (&[], "lines below copies: until the bytes are there"),
];

const TITLE: &str = "One CTA of the forward kernel: bf16, head dimension 128, 128 queries, 768 keys";
const SUBTITLE: &str = "The softmax of one warpgroup runs under the products of the other: once all is under way, the tensor \
                        cores do not rest. Times are cycles of the emulator's model.";

/// The picture.
pub fn drawn(rows: &[Row], cycles: u64) -> String {
    let bottom = TOP + ROW * rows.len() as f64;
    let height = bottom + 84.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>Timeline of the forward kernel, head dimension 128</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"12\" y=\"24\">{TITLE}</text>\n<text x=\"12\" y=\"44\">{SUBTITLE}</text>\n"
    );
    axis(&mut svg, cycles, bottom);
    for (index, row) in rows.iter().enumerate() {
        let top = TOP + ROW * index as f64;
        // Writing to a string does not fail.
        let _ = writeln!(
            svg,
            "<text class=\"name\" x=\"12\" y=\"{}\">{}</text><text class=\"note\" x=\"12\" y=\"{}\">{}</text>",
            top + 20.0,
            row.name,
            top + 34.0,
            row.note
        );
        for bar in &row.bars {
            draw(&mut svg, bar, top + (ROW - BAR) / 2.0, cycles);
        }
    }
    legend(&mut svg, bottom + 44.0);
    svg + "</svg>\n"
}

fn x(cycle: u64, cycles: u64) -> f64 {
    LEFT + (WIDTH - LEFT - RIGHT) * cycle as f64 / cycles.max(1) as f64
}

fn axis(svg: &mut String, cycles: u64, bottom: f64) {
    for tick in (0..=cycles).step_by(1000) {
        let x = x(tick, cycles);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{x:.1} {}V{bottom}\"/><text class=\"tick\" x=\"{x:.1}\" y=\"{}\">{tick}</text>",
            TOP - 6.0,
            bottom + 14.0
        );
    }
    let _ = writeln!(svg, "<text class=\"note\" x=\"12\" y=\"{}\">cycles</text>", bottom + 14.0);
}

fn draw(svg: &mut String, bar: &Bar, top: f64, cycles: u64) {
    let (left, right) = (x(bar.start, cycles), x(bar.end, cycles));
    let width = (right - left).max(0.5);
    let is_wait = bar.class.starts_with("wait");
    let height = if is_wait { WAIT } else { BAR };
    let y = top + (BAR - height) / 2.0;
    let class = bar.class;
    let _ = write!(
        svg,
        "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\" rx=\"2\"/>"
    );
    if let Some(complete) = bar.complete {
        let (y, width) = (top + BAR + 3.0, x(complete, cycles) - left);
        let _ = write!(
            svg,
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"2\"/>"
        );
    }
    if bar.label.chars().count() as f64 * CHARACTER + 4.0 < width {
        let ink = if ["p0", "p1", "v"].contains(&class) { "on" } else { "in" };
        let (x, y) = ((left + right) / 2.0, top + BAR / 2.0 + 4.0);
        let _ = write!(svg, "<text class=\"{ink}\" x=\"{x:.1}\" y=\"{y}\">{}</text>", bar.label);
    }
    svg.push('\n');
}

fn legend(svg: &mut String, mut y: f64) {
    let mut left = 12.0;
    for (classes, text) in LEGEND {
        let width = 14.0 * classes.len() as f64 + 24.0 + text.chars().count() as f64 * 5.8;
        if left + width > WIDTH {
            (left, y) = (12.0, y + 20.0);
        }
        for (index, class) in classes.iter().enumerate() {
            let (x, y) = (left + 14.0 * index as f64, y - 10.0);
            let _ = write!(
                svg,
                "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" rx=\"2\"/>"
            );
        }
        let x = left + 14.0 * classes.len() as f64 + 3.0;
        let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\">{text}</text>");
        left += width;
    }
}
