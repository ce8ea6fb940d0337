use assay_engine::*;
use assay_model::job::*;
use assay_model::units::*;
struct N;
impl Observer for N {
    fn clock_starts(&mut self) {}
    fn clock_stopped(&mut self) {}
    fn progress(&mut self, _: Progress) {}
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let mut j = Job::new("x", Rw::RandRead, Bytes::kib(4), Bytes::mib(256));
    j.ioengine = match a[1].as_str() {
        "null" => EngineKind::Null,
        "uring" => EngineKind::IoUring,
        _ => EngineKind::Psync,
    };
    j.io_size = Some(Bytes(4096 * a[3].parse::<u64>().unwrap()));
    if a[1] == "uring" {
        j.iodepth = 32;
        j.direct = true;
    }
    let m = measure(
        &j,
        std::path::Path::new(&a[2]),
        1,
        &std::sync::atomic::AtomicBool::new(false),
        &mut N,
    )
    .unwrap();
    println!(
        "{} ios {:.1} ns cpu/io {:.0} iops",
        m.read.ios,
        (m.cpu.user_ns + m.cpu.system_ns) as f64 / m.read.ios as f64,
        m.read.ios as f64 * 1e9 / m.elapsed_ns as f64
    );
}
