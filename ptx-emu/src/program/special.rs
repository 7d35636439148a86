//! Special registers. PTX ISA, "Special Registers".

macro_rules! specials {
    ($($variant:ident $name:literal,)*) => {
        /// A special register that instructions can read.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) enum Special { $($variant,)* }

        impl Special {
            /// The register of that name, given without the `%`.
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)*
                    _ if name.starts_with("envreg") => Some(Self::EnvReg),
                    _ => None,
                }
            }
        }
    };
}

specials! {
    TidX "tid.x", TidY "tid.y", TidZ "tid.z",
    NtidX "ntid.x", NtidY "ntid.y", NtidZ "ntid.z",
    CtaidX "ctaid.x", CtaidY "ctaid.y", CtaidZ "ctaid.z",
    NctaidX "nctaid.x", NctaidY "nctaid.y", NctaidZ "nctaid.z",
    LaneId "laneid", WarpId "warpid", NwarpId "nwarpid",
    SmId "smid", NsmId "nsmid", GridId "gridid",
    LanemaskEq "lanemask_eq", LanemaskLe "lanemask_le", LanemaskLt "lanemask_lt",
    LanemaskGe "lanemask_ge", LanemaskGt "lanemask_gt",
    Clock "clock", ClockHi "clock_hi", Clock64 "clock64",
    GlobalTimer "globaltimer", GlobalTimerLo "globaltimer_lo", GlobalTimerHi "globaltimer_hi",
    ClusterIdX "clusterid.x", ClusterIdY "clusterid.y", ClusterIdZ "clusterid.z",
    NclusterIdX "nclusterid.x", NclusterIdY "nclusterid.y", NclusterIdZ "nclusterid.z",
    ClusterCtaidX "cluster_ctaid.x", ClusterCtaidY "cluster_ctaid.y", ClusterCtaidZ "cluster_ctaid.z",
    ClusterNctaidX "cluster_nctaid.x", ClusterNctaidY "cluster_nctaid.y", ClusterNctaidZ "cluster_nctaid.z",
    ClusterCtarank "cluster_ctarank", ClusterNctarank "cluster_nctarank", IsExplicitCluster "is_explicit_cluster",
    Frame "frame pointer",
    // What the driver tells a kernel: in 1 and 2 the address of a workspace, in the others nothing.
    EnvReg1 "envreg1", EnvReg2 "envreg2", EnvReg "envreg0",
    TotalSmemSize "total_smem_size", DynamicSmemSize "dynamic_smem_size", AggrSmemSize "aggr_smem_size",
}

impl Special {
    /// Whether its value changes at run time, so that each instruction reads it again.
    pub(crate) const fn is_counter(self) -> bool {
        matches!(
            self,
            Self::Clock | Self::ClockHi | Self::Clock64 | Self::GlobalTimer | Self::GlobalTimerLo | Self::GlobalTimerHi
        )
    }
}
