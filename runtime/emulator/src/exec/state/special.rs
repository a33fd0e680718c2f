//! Special registers: who a thread is (ISA chapter 10).

use super::cluster::State;
use super::warp::Warp;
use crate::inst::{Lanes, Special};

impl Warp {
    /// The values of a special register.
    pub(crate) fn special(&self, st: &State<'_>, special: Special, out: &mut Lanes) {
        let (launch, cta) = (st.env.launch, st.near.cta);
        let (block, grid, cluster) = (launch.block, launch.grid, launch.cluster);
        let axis = |dims: [u32; 3], axis: u8| dims.get(axis as usize).copied().unwrap_or(0);
        let per = |a: [u32; 3], f: fn(u32, u32) -> u32| {
            [
                f(a[0], cluster[0]),
                f(a[1], cluster[1]),
                f(a[2], cluster[2]),
            ]
        };
        let in_cluster = per(cta, |cta, cluster| cta % cluster);
        let value = match special {
            Special::Tid(dim) => {
                for (lane, value) in out.iter_mut().enumerate() {
                    let linear = 32 * self.id + lane as u32;
                    let tid = [
                        linear % block[0],
                        linear / block[0] % block[1],
                        linear / block[0] / block[1],
                    ];
                    *value = u64::from(axis(tid, dim));
                }
                return;
            }
            Special::Laneid
            | Special::LanemaskEq
            | Special::LanemaskLe
            | Special::LanemaskLt
            | Special::LanemaskGe
            | Special::LanemaskGt => {
                for (lane, value) in out.iter_mut().enumerate() {
                    let below = (1u32 << lane) - 1;
                    *value = u64::from(match special {
                        Special::Laneid => lane as u32,
                        Special::LanemaskEq => 1 << lane,
                        Special::LanemaskLt => below,
                        Special::LanemaskLe => below | 1 << lane,
                        Special::LanemaskGe => !below,
                        _ => !(below | 1 << lane),
                    });
                }
                return;
            }
            Special::Ntid(dim) => axis(block, dim),
            Special::Ctaid(dim) => axis(cta, dim),
            Special::Nctaid(dim) => axis(grid, dim),
            Special::Warpid => self.id,
            Special::Nwarpid => st.near.live.len() as u32,
            Special::Smid | Special::ClockHi | Special::Gridid => 0,
            Special::Nsmid => 132,
            // Time is the warp's own instruction count: monotonic and deterministic.
            Special::Clock | Special::Clock64 | Special::Globaltimer => self.executed as u32,
            Special::DynamicSmemSize => launch.dynamic_shared_bytes,
            Special::TotalSmemSize => st.env.shared_bytes,
            Special::Clusterid(dim) => axis(per(cta, |cta, cluster| cta / cluster), dim),
            Special::Nclusterid(dim) => axis(per(grid, |grid, cluster| grid / cluster), dim),
            Special::ClusterCtaid(dim) => axis(in_cluster, dim),
            Special::ClusterNctaid(dim) => axis(cluster, dim),
            Special::ClusterCtarank => {
                in_cluster[0] + cluster[0] * (in_cluster[1] + cluster[1] * in_cluster[2])
            }
            Special::ClusterNctarank => cluster[0] * cluster[1] * cluster[2],
            Special::IsExplicitCluster => u32::from(cluster != [1, 1, 1]),
        };
        *out = [u64::from(value); 32];
    }
}
