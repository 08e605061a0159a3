// Microbenchmarks of one GPU of compute capability 9.0. See README.md.
// Build: make     (nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -o micro micro.cu -ldl)
// Run:   ./micro [out.json] [group ...]      groups: latency alu tensor smem global bandwidth divergence scheduling power
// Each group runs in a child process: a fault, a hang or a dead context costs one step, not the run. Results are merged after each group.
#include <sys/stat.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>
#include <fstream>
#include "g_latency.cuh"
#include "g_alu.cuh"
#include "g_tensor.cuh"
#include "g_smem.cuh"
#include "g_global.cuh"
#include "g_bandwidth.cuh"
#include "g_divergence.cuh"
#include "g_sched.cuh"
#include "g_power.cuh"

static void device_line() {   // one JSON object
  cudaDeviceProp p; CK(cudaGetDeviceProperties(&p, 0)); int drv, rt; CK(cudaDriverGetVersion(&drv)); CK(cudaRuntimeGetVersion(&rt)); size_t fr, tot; CK(cudaMemGetInfo(&fr, &tot));
  std::string s = J("name", p.name, "cc_major", p.major, "cc_minor", p.minor, "multiProcessorCount", p.multiProcessorCount, "totalGlobalMem", p.totalGlobalMem, "freeMem", fr, "totalConstMem", p.totalConstMem, "l2CacheSize", p.l2CacheSize,
    "persistingL2CacheMaxSize", p.persistingL2CacheMaxSize, "accessPolicyMaxWindowSize", p.accessPolicyMaxWindowSize, "sharedMemPerBlock", p.sharedMemPerBlock, "sharedMemPerBlockOptin", p.sharedMemPerBlockOptin);
  s += "," + J("sharedMemPerMultiprocessor", p.sharedMemPerMultiprocessor, "reservedSharedMemPerBlock", p.reservedSharedMemPerBlock, "regsPerBlock", p.regsPerBlock, "regsPerMultiprocessor", p.regsPerMultiprocessor, "warpSize", p.warpSize,
    "maxThreadsPerBlock", p.maxThreadsPerBlock, "maxThreadsPerMultiProcessor", p.maxThreadsPerMultiProcessor, "maxBlocksPerMultiProcessor", p.maxBlocksPerMultiProcessor, "memoryBusWidth", p.memoryBusWidth, "asyncEngineCount", p.asyncEngineCount,
    "ECCEnabled", p.ECCEnabled, "concurrentKernels", p.concurrentKernels, "globalL1CacheSupported", p.globalL1CacheSupported, "localL1CacheSupported", p.localL1CacheSupported, "driver", drv, "runtime", rt);
  int v; struct { const char* n; cudaDeviceAttr a; } at[] = {{"clockRate_kHz", cudaDevAttrClockRate}, {"memoryClockRate_kHz", cudaDevAttrMemoryClockRate}, {"singleToDoublePrecisionPerfRatio", cudaDevAttrSingleToDoublePrecisionPerfRatio}};
  for (auto& x : at) if (cudaDeviceGetAttribute(&v, x.a, 0) == cudaSuccess) s += "," + J(x.n, v);
  s += ",\"attributes_by_id\":{"; bool first = true;
  for (int i = 1; i < 160; i++) if (cudaDeviceGetAttribute(&v, (cudaDeviceAttr)i, 0) == cudaSuccess) { if (!first) s += ","; first = false; s += "\"" + std::to_string(i) + "\":" + std::to_string(v); } else cudaGetLastError();
  s += "},\"max_active_clusters\":{"; first = true; cudaFuncSetAttribute((const void*)k_place_cl, cudaFuncAttributeNonPortableClusterSizeAllowed, 1); cudaFuncSetAttribute((const void*)k_place_cl, cudaFuncAttributeMaxDynamicSharedMemorySize, 204800);
  for (int cl : {1, 2, 4, 8, 16}) {
    cudaLaunchConfig_t c = {}; c.gridDim = dim3(cl * 8); c.blockDim = dim3(128); c.dynamicSmemBytes = 204800; cudaLaunchAttribute a[1]; a[0].id = cudaLaunchAttributeClusterDimension; a[0].val.clusterDim.x = cl; a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1; c.attrs = a; c.numAttrs = 1;
    int n = 0; if (cudaOccupancyMaxActiveClusters(&n, k_place_cl, &c) == cudaSuccess) { if (!first) s += ","; first = false; s += "\"" + std::to_string(cl) + "\":" + std::to_string(n); } else cudaGetLastError();
  }
  line("{" + s + "}}");
}
struct Group { const char* name; void (*f)(); int limit_s; };
static Group groups[] = {{"device", device_line, 60}, {"latency", g_latency, 90}, {"alu", g_alu, 60}, {"tensor", g_tensor, 60}, {"smem", g_smem, 60}, {"global", g_global, 90}, {"bandwidth", g_bandwidth, 120}, {"divergence", g_divergence, 60},
  {"scheduling", g_scheduling, 90}, {"power", g_power, 90}};

static int child(const char* name, const char* part) {
  { std::ifstream f(part); std::string l; while (std::getline(f, l)) if (l.rfind("#start ", 0) == 0) g_started.insert(l.substr(7)); }   // a restart skips what was begun
  g_out = fopen(part, "a"); if (!g_out) return 3; g_group = name;
  for (Group& g : groups) if (g_group == g.name) {
    try { if (g_group != "device") child_init(); g.f(); if (g_group != "device") CK(cudaDeviceSynchronize()); return 0; }
    catch (Dead& e) { return 2; }
    catch (std::exception& e) { line("{\"group\":\"" + g_group + "\",\"error\":\"" + esc(e.what()) + "\"}"); fprintf(stderr, "  [%s] ERROR %s\n", name, e.what()); return 4; }
  }
  return 5;
}
static bool balanced(const std::string& l) { int d = 0; bool q = false; for (size_t i = 0; i < l.size(); i++) { char c = l[i]; if (q) { if (c == '\\') i++; else if (c == '"') q = false; } else if (c == '"') q = true; else if (c == '{' || c == '[') d++; else if (c == '}' || c == ']') d--; } return !d && !q; }
static void merge(const std::string& out, const std::vector<std::string>& done_groups, double secs) {
  std::string dev = "{}", res;
  for (auto& g : done_groups) { std::ifstream f(out + "." + g + ".part"); std::string l;
    while (std::getline(f, l)) if (!l.empty() && l[0] == '{' && l.back() == '}' && balanced(l)) { if (g == "device" && l.rfind("{\"group\"", 0) != 0) dev = l; else { if (!res.empty()) res += ",\n"; res += l; } } }
  std::string tmp = out + ".tmp"; FILE* f = fopen(tmp.c_str(), "w"); if (!f) { fprintf(stderr, "cannot write %s\n", tmp.c_str()); return; }
  fprintf(f, "{\"device\":%s,\n\"meta\":{\"seconds\":%.1f},\n\"results\":[\n%s\n]}\n", dev.c_str(), secs, res.c_str()); fclose(f); rename(tmp.c_str(), out.c_str());
}
int main(int argc, char** argv) {
  if (argc == 4 && !strcmp(argv[1], "--child")) return child(argv[2], argv[3]);
  std::string out = argc > 1 ? argv[1] : "micro.json"; std::vector<std::string> want = {"device"}, fin;
  if (argc > 2) for (int i = 2; i < argc; i++) want.push_back(argv[i]); else for (Group& g : groups) if (strcmp(g.name, "device")) want.push_back(g.name);
  const char* lim = getenv("MICRO_LIMIT_S"); double limit = lim ? atof(lim) : 400;   // no group or restart is begun past this
  for (auto& w : want) {
    Group* g = nullptr; for (Group& x : groups) if (w == x.name) g = &x;
    if (!g) { fprintf(stderr, "unknown group %s\n", w.c_str()); continue; }
    std::string part = out + "." + w + ".part"; unlink(part.c_str()); fin.push_back(w); double t = now_s();
    auto note = [&](const std::string& m) { if (FILE* f = fopen(part.c_str(), "a")) { fprintf(f, "\n{\"group\":\"%s\",\"error\":\"%s\"}\n", w.c_str(), esc(m).c_str()); fclose(f); } fprintf(stderr, "[%s] %s\n", w.c_str(), m.c_str()); };
    for (int tries = 0; tries < 6; tries++) {
      if (now_s() > limit) { note("skipped: total time limit"); break; }
      fflush(nullptr); pid_t pid = fork();
      if (pid == 0) { execl("/proc/self/exe", argv[0], "--child", w.c_str(), part.c_str(), (char*)nullptr); execl(argv[0], argv[0], "--child", w.c_str(), part.c_str(), (char*)nullptr); _exit(127); }
      if (pid < 0) { note("fork failed"); break; }
      double s = now_s(), quiet = s; off_t size = -1; int st = 0; bool killed = false;   // killed after 30 s without a new record, or at the group's limit
      while (waitpid(pid, &st, WNOHANG) == 0) { usleep(20000); struct stat fs; if (!stat(part.c_str(), &fs) && fs.st_size != size) { size = fs.st_size; quiet = now_s(); }
        if (!killed && (now_s() - s > g->limit_s || now_s() - quiet > 30)) { kill(pid, SIGKILL); killed = true; s = now_s(); } if (killed && now_s() - s > 20) break; }
      if (killed) { note("killed: no record for 30 s, or past the group's time limit"); if (tries >= 2) break; continue; }
      if (WIFEXITED(st) && WEXITSTATUS(st) == 0) break;
      if (WIFEXITED(st) && (WEXITSTATUS(st) == 4 || WEXITSTATUS(st) == 127)) { if (WEXITSTATUS(st) == 127) note("exec failed"); break; }
      if (WIFSIGNALED(st)) note("child ended by signal " + std::to_string(WTERMSIG(st)));   // then, as after a dead context, restart past the step
    }
    fprintf(stderr, "[%s] %.1f s\n", w.c_str(), now_s() - t); merge(out, fin, now_s());
  }
  if (!getenv("MICRO_KEEP_PARTS")) for (auto& w : fin) unlink((out + "." + w + ".part").c_str());
  fprintf(stderr, "wrote %s in %.1f s\n", out.c_str(), now_s()); return 0;
}
