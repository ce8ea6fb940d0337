//! Pages in a real browser: no error, no request, and what the script adds works.

use crate::assay::{Bed, Running, text};
use assay_testkit::needs;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chromium, alone with a page: nothing of it may reach for the network.
fn chromium(bed: &Bed, words: &[&str], page: &Path) -> Command {
    let mut command = assay_testkit::command("chromium");
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--enable-logging=stderr",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=20000",
    ]);
    command.arg(format!("--user-data-dir={}", text(&bed.join("profile"))));
    command.args(words).arg(format!("file://{}", text(page)));
    command
}

/// Runs a script in the page once it has loaded; what it writes with `say`, a line
/// each.
pub fn probed(bed: &Bed, page: &Path, script: &str) -> Vec<String> {
    let copy = bed.join("probed.html");
    let html = fs::read_to_string(page).expect("a page");
    let probe = format!(
        "<script>const said = []; const say = (text) => said.push(text);\n\
         const change = (element, kind, more) => element.dispatchEvent(Object.assign(new Event(kind, {{ bubbles: true, cancelable: true }}), more));\n\
         {script}\n\
         const lines = document.createElement('pre'); lines.id = 'said'; lines.textContent = said.join('\\n'); document.body.append(lines);</script></body>"
    );
    fs::write(&copy, html.replace("</body>", &probe)).expect("a copy of it");
    dumped(bed, &copy)
}

/// Lines that a script in a page has put into an element `said`.
pub fn dumped(bed: &Bed, page: &Path) -> Vec<String> {
    dumped_with(bed, &[], page)
}

/// The same of a Chromium with further options.
fn dumped_with(bed: &Bed, words: &[&str], page: &Path) -> Vec<String> {
    let words = [words, &["--dump-dom"]].concat();
    let ended = Running::start(&mut chromium(bed, &words, page)).end();
    ended.assert_code(0);
    let logged = ended.err.concat();
    assert!(!logged.contains("CONSOLE"), "{logged}");
    let (_, said) = ended
        .out
        .rsplit_once("<pre id=\"said\">")
        .expect("it ran to its end");
    let (said, _) = said.split_once("</pre>").expect("its end");
    said.lines().map(str::to_owned).collect()
}

/// Frames as wide as a telephone and a desk, and what their pages say.
const FRAMES: &str = "<meta name=\"color-scheme\" content=\"light dark\">
    <body><pre id=\"said\"></pre><script>
    const said = [];
    addEventListener('message', (event) => {
      said.push(event.data);
      document.querySelector('#said').textContent = said.sort().join('\\n');
    });
    </script>
    <iframe src=\"judged.html\" style=\"width: 1280px; border: 0; height: 800px\"></iframe>
    <iframe src=\"judged.html\" style=\"width: 375px; border: 0; height: 667px\"></iframe>";

/// Shows a page at the width of a telephone and of a desk; what its scripts post to the page around
/// it, a line each.
pub fn framed(bed: &Bed, words: &[&str], html: &str, scripts: &[&str]) -> Vec<String> {
    let outer = bed.join("frames.html");
    fs::write(&outer, FRAMES).expect("a page");
    let scripts = scripts.iter();
    let scripts: String = scripts
        .map(|script| format!("<script>{script}</script>"))
        .collect();
    let html = html.replace("</body>", &format!("{scripts}</body>"));
    fs::write(bed.join("judged.html"), html).expect("a page");
    dumped_with(bed, words, &outer)
}

fn report(bed: &Bed, words: &[&str]) -> PathBuf {
    let page = bed.join("page.html");
    let mut all = vec!["report"];
    all.extend_from_slice(words);
    all.extend(["-o", text(&page)]);
    bed.run(&all).assert_code(0);
    page
}

/// A run with enough jobs for a table that can be filtered.
fn bed_with_run() -> Bed {
    let bed = Bed::new();
    let folder = bed.folder();
    let words = ["--size", "1M", "--trials", "1", "--only", "rand-*"];
    bed.qualify(&folder, &words).end().assert_code(0);
    bed
}

#[test]
fn tables_sort_and_filter() {
    needs!("chromium");
    let bed = bed_with_run();
    let page = report(&bed, &["last"]);
    let said = probed(
        &bed,
        &page,
        "document.querySelectorAll('details').forEach((folded) => { folded.open = true; });
         const table = document.querySelector('#latency table');
         const column = (n) => [...table.tBodies[0].rows].map((row) => row.cells[n].innerText);
         const buttons = table.querySelectorAll('thead button');
         const plain = column(0).slice().sort((a, b) => a.localeCompare(b));
         buttons[0].click();
         say(JSON.stringify(column(0)) === JSON.stringify(plain));
         say(table.querySelector('th').getAttribute('aria-sort'));
         buttons[0].click();
         say(JSON.stringify(column(0)) === JSON.stringify(plain.reverse()));
         buttons[2].click();
         const counts = column(2).map(Number);
         say(counts.every((count, at) => at === 0 || counts[at - 1] <= count));
         const filter = document.querySelector('#latency input');
         filter.value = 'rand-read-8k';
         change(filter, 'input');
         say([...table.tBodies[0].rows].filter((row) => !row.hidden).map((row) => row.cells[0].innerText).join());",
    );
    assert_eq!(said, ["true", "ascending", "true", "true", "rand-read-8k"]);
}

#[test]
fn data_can_be_taken_out_of_the_page() {
    needs!("chromium");
    let bed = bed_with_run();
    let page = report(&bed, &["last"]);
    let said = probed(
        &bed,
        &page,
        "const entries = archiveEntries();
         say(entries.has('run.json'));
         const figures = [...document.querySelectorAll('figure[data-chart]')];
         say(figures.length > 20);
         say(figures.every((figure) => entries.has(figure.dataset.chart + '.csv')));
         say(figures.every((figure) => figure.querySelector('button.csv')));",
    );
    assert_eq!(said, ["true", "true", "true", "true"]);
}

#[test]
fn a_surface_turns_with_keys_and_pointer() {
    needs!("chromium");
    let bed = Bed::new();
    let folder = bed.folder();
    let file = folder.join("io.tmp");
    let words = [
        "iozone",
        "-a",
        "-n",
        "64",
        "-g",
        "512",
        "-i",
        "0",
        "-f",
        text(&file),
    ];
    bed.run(&words).assert_code(0);
    let page = report(&bed, &["last"]);
    let said = probed(
        &bed,
        &page,
        "const around = document.querySelector('.turnable');
         const drawn = () => around.querySelector('svg').innerHTML;
         const facets = () => around.querySelectorAll('.mesh').length;
         const before = drawn();
         const count = facets();
         change(around, 'keydown', { key: 'ArrowLeft' });
         const turned = drawn();
         say(turned !== before && facets() === count && count > 0);
         change(around, 'keydown', { key: '+' });
         say(drawn() !== turned);
         change(around, 'keydown', { key: '0' });
         const upright = drawn();
         around.setPointerCapture = () => {};
         change(around, 'pointerdown', { clientX: 10, clientY: 10 });
         change(around, 'pointermove', { clientX: 60, clientY: 20 });
         change(around, 'pointerup', {});
         say(drawn() !== upright);
         say(!drawn().includes('NaN'));",
    );
    assert_eq!(said, ["true", "true", "true", "true"]);
}

/// Tells the page around it its width, its screens, and what is wrong with it.
const MEASURE: &str = "
    addEventListener('load', () => {
      const screens = document.documentElement.scrollHeight / window.innerHeight;
      const wide = document.documentElement.scrollWidth > window.innerWidth;
      const shown = [...document.querySelectorAll('svg text')].filter((text) =>
        !text.closest('details:not([open])') && text.ownerSVGElement.getBoundingClientRect().width > 0);
      const sizes = shown.map((text) => {
        const svg = text.ownerSVGElement;
        const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
        return scale * parseFloat(getComputedStyle(text).fontSize);
      });
      const small = sizes.length < 10 || Math.min(...sizes) < 11;
      const long = window.innerWidth > 1000 && screens > 3;
      const faults = [wide && 'too wide', small && 'small text ' + Math.min(...sizes), long && screens + ' screens'];
      parent.postMessage([window.innerWidth, ...faults.filter((fault) => fault)].join(' '), '*');
    });";

#[test]
fn a_quick_run_has_three_screens_and_two_sheets_of_paper() {
    needs!("chromium");
    let bed = Bed::new();
    bed.run(&["qualify", "sim:emmc-8gb-hs400,noise=5", "--quick"])
        .assert_code(0);
    let page = report(&bed, &["last"]);
    let html = fs::read_to_string(&page).expect("a page");
    assert_eq!(framed(&bed, &[], &html, &[MEASURE]), ["1280", "375"]);
    let printed = print(&bed, &page);
    let sheets = printed
        .windows(b"/Type /Page\n".len())
        .filter(|part| *part == b"/Type /Page\n");
    let sheets = sheets.count();
    assert!((1..=2).contains(&sheets), "{sheets} sheets");
}

/// A page on paper, as PDF.
fn print(bed: &Bed, page: &Path) -> Vec<u8> {
    let printed = bed.join("page.pdf");
    let words = [format!("--print-to-pdf={}", text(&printed))];
    let words = words.each_ref().map(String::as_str);
    Running::start(&mut chromium(bed, &words, page))
        .end()
        .assert_code(0);
    fs::read(&printed).expect("a PDF")
}

/// As if on a sheet of A4 with Chromium's margins, in its pixels.
const ON_PAPER: &str = "
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    const printed = rules.filter((rule) => rule.media && rule.media.mediaText === 'print');
    const style = document.createElement('style');
    style.textContent = printed.flatMap((rule) => [...rule.cssRules]).map((rule) => rule.cssText).join('\\n');
    document.head.append(style);
    document.body.style.width = '718px';
    document.querySelectorAll('details').forEach((folded) => { folded.open = true; });
    const figures = [...document.querySelectorAll('figure')];
    say(printed.length > 0 && figures.length > 20);
    const isCut = (figure) => {
        const box = figure.getBoundingClientRect();
        const breaks = getComputedStyle(figure).breakInside !== 'avoid';
        return breaks || box.height > 1047 || box.left < 0 || box.right > 718;
    };
    say('cut: ' + figures.filter(isCut).map((figure) => figure.dataset.chart).join());";

#[test]
fn no_chart_is_cut_on_paper() {
    needs!("chromium");
    let bed = bed_with_run();
    let page = report(&bed, &["last"]);
    assert_eq!(probed(&bed, &page, ON_PAPER), ["true", "cut: "]);
}

#[test]
fn pages_are_no_wider_than_the_window_and_are_seen() {
    needs!("chromium");
    let bed = bed_with_run();
    let page = report(&bed, &["last"]);
    let said = probed(
        &bed,
        &page,
        "say(document.documentElement.scrollWidth <= window.innerWidth);
         say([...document.querySelectorAll('svg')].every((svg) => svg.getBoundingClientRect().width > 20 || svg.closest('details:not([open])') || getComputedStyle(svg).display === 'none'));",
    );
    assert_eq!(said, ["true", "true"]);
    let cut = probed(
        &bed,
        &page,
        "document.body.style.width = '1280px';
         document.querySelectorAll('details').forEach((folded) => { folded.open = true; });
         const cut = [...document.querySelectorAll('.scroll')].filter((table) => table.scrollWidth > table.clientWidth);
         say('cut: ' + cut.map((table) => table.closest('section').id).join());",
    );
    assert_eq!(cut, ["cut: "], "at 1280 pixels");
    for width in [500, 1280] {
        let shot = bed.join(&format!("{width}.png"));
        let words = [
            format!("--screenshot={}", text(&shot)),
            format!("--window-size={width},2000"),
        ];
        let words = words.each_ref().map(String::as_str);
        Running::start(&mut chromium(&bed, &words, &page))
            .end()
            .assert_code(0);
        let png = fs::read(&shot).unwrap();
        // Of one colour, it would be a tenth of that.
        assert!(png.len() > 50_000, "{width}: {} bytes", png.len());
    }
    assert!(print(&bed, &page).starts_with(b"%PDF"));
}
