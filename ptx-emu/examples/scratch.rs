use ptx_emu::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (slug, n) = (a[1].as_str(), a[2].parse::<u32>().unwrap());
    let checks = if a.get(3).is_some_and(|x| x == "all") { Checks::ALL } else { Checks::NONE };
    let text = std::fs::read_to_string("gpu-kernels/ptx/sm_80.ptx").unwrap();
    let t = std::time::Instant::now();
    let module = Module::parse(&text).unwrap();
    println!("parse {:?}", t.elapsed());
    let (block, bm, bn) = match slug {
        "naive" => ([32, 32, 1], 32, 32),
        "coalesced" | "smem_tiling" => ([1024, 1, 1], 32, 32),
        "tiling_1d" => ([512, 1, 1], 64, 64),
        _ => ([256, 1, 1], 128, 128),
    };
    let kernel = module.kernel(&format!("sgemm_{slug}")).unwrap_or_else(|e| {
        println!("{e}");
        std::process::exit(1)
    });
    println!("live registers {}", kernel.live_registers());
    let mut memory = GlobalMemory::default();
    let data = |s: u32| {
        (0..n * n).map(move |i| {
            let x = (i.wrapping_mul(2654435761) ^ s.wrapping_mul(40503)) >> 8;
            (x as f32 / (1u32 << 23) as f32 - 1.0).to_bits()
        })
    };
    let pa = memory.allocate_words(data(1));
    let pb = memory.allocate_words(data(2));
    let pc = memory.allocate_words((0..n * n).map(|_| f32::NAN.to_bits()));
    let mut l = Launch::new([n.div_ceil(bn), n.div_ceil(bm), 1], block);
    l.checks = checks;
    l = l
        .argument(n.to_le_bytes())
        .argument(n.to_le_bytes())
        .argument(n.to_le_bytes())
        .argument(1f32.to_le_bytes())
        .argument(pa.to_le_bytes())
        .argument(n.to_le_bytes())
        .argument(pb.to_le_bytes())
        .argument(n.to_le_bytes())
        .argument(0f32.to_le_bytes())
        .argument(pc.to_le_bytes())
        .argument(n.to_le_bytes());
    if n > 512 {
        l.blocks = Blocks::Sample { budget: std::time::Duration::from_millis(300), seed: 1 };
    }
    let t = std::time::Instant::now();
    let r = kernel.launch(&mut memory, &l).unwrap();
    let dt = t.elapsed().as_secs_f64();
    for f in &r.findings {
        println!("{f}");
    }
    if let Some(f) = &r.fault {
        println!("FAULT {f}");
    }
    println!("{:.3} s, {:.3e} lane-instr/s", dt, r.counters.thread_instructions as f64 / dt);
    let c = memory.read(pc).unwrap();
    let c: Vec<f32> = c.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    let f = |s: u32, i: u32| {
        let x = (i.wrapping_mul(2654435761) ^ s.wrapping_mul(40503)) >> 8;
        f64::from(x as f32 / (1u32 << 23) as f32 - 1.0)
    };
    let mut worst = 0f64;
    for (i, j) in [(0, 0), (n - 1, n - 1), (n / 2, n / 3), (n - 1, 0), (0, n - 1)] {
        let e: f64 = (0..n).map(|p| f(1, i * n + p) * f(2, p * n + j)).sum();
        worst = worst.max((e - f64::from(c[(i * n + j) as usize])).abs());
    }
    println!("worst {worst:e}");
    let k = &r.counters;
    println!(
        "JSON {{\"step\":\"{slug}\",\"n\":{n},\"blocks\":{},\"threads\":{},\"machine\":{},\"ptx\":{},\"fma\":{},\"wf\":{},\"req\":{},\"ldreq\":{},\"bar\":{},\"bsec\":{},\"touched\":{}, \"live\":{},\"regs\":{}}}",
        r.blocks,
        block[0] * block[1],
        k.machine_instructions,
        k.warp_instructions(),
        k.thread_fmas,
        k.global_loads.wavefronts + k.global_stores.wavefronts + k.shared_loads.wavefronts + k.shared_stores.wavefronts,
        k.global_loads.requests + k.global_stores.requests + k.shared_loads.requests + k.shared_stores.requests,
        k.global_loads.requests,
        k.barriers,
        k.block_sectors,
        k.touched_bytes,
        kernel.live_registers(),
        occupancy::estimate_registers(
            &device::DEVICES[0],
            kernel.live_registers(),
            block[0] * block[1],
            kernel.bounds()
        )
    );
}
