#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <string>
#include <cuda_runtime.h>
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){printf("ERR %s line %d: %s\n",#x,__LINE__,cudaGetErrorString(e));exit(1);}}while(0)
typedef unsigned u32; typedef unsigned long long u64;
__device__ __forceinline__ u32 ldca(const u32*p){u32 v;asm volatile("ld.global.ca.u32 %0,[%1];":"=r"(v):"l"(p):"memory");return v;}
__device__ __forceinline__ void st(u32*p,u32 v){asm volatile("st.global.u32 [%0],%1;"::"l"(p),"r"(v):"memory");}
__device__ __forceinline__ u32 clk(){u32 v;asm volatile("mov.u32 %0,%%clock;":"=r"(v)::"memory");return v;}
struct Phase{int op,start,n,stride;};
struct Plan{Phase p[6];int count;};
// op 0: lane 0 loads word 0 of the line; 1: lane 0 stores word 0; 2: lane 0 loads word 8 (sector 1); 3: warp stores whole line; 4: warp loads whole line; 5: lane 0 loads word 1
__global__ void tags(u32*buf,Plan plan,u32*out,u32*sink){
  int lane=threadIdx.x; u32 acc=0;
  for(int k=0;k<plan.count;k++){
    Phase p=plan.p[k]; u32 miss[8];
#pragma unroll
    for(int s=0;s<8;s++){ miss[s]=0;
      int lo=(long long)p.n*s/8,hi=(long long)p.n*(s+1)/8;
      for(int i=lo;i<hi;i++){
        u32*q=buf+((size_t)p.start+(size_t)i*p.stride)*32;
        if(p.op==1){ if(lane==0) st(q,acc); }
        else if(p.op==3) st(q+lane,acc);
        else {
          int w=p.op==2?8:p.op==5?1:p.op==4?lane:0; u32 t0=clk(); u32 v=0; if(p.op==4||lane==0) v=ldca(q+w); if(p.op==6&&lane==0) v+=ldca(q+1);
          acc+=v; asm volatile("{.reg .u32 t; add.u32 t,%0,0;}"::"r"(acc)); __syncwarp(); u32 x=__shfl_sync(~0u,acc,0); u32 t1=clk(); acc+=x&0; if(t1-t0>170) miss[s]++;
        }
      }
    }
    __syncwarp(); { u32 t=clk(); while(clk()-t<3000); }
    if(lane==0) {
#pragma unroll
      for(int s=0;s<8;s++) asm volatile("st.global.cg.u32 [%0],%1;"::"l"(out+k*8+s),"r"(p.op==1||p.op==3?9999:miss[s]));
    }
  }
  if(acc==12345) *sink=acc;
}
static u32*buf,*out,*sink;
static const int B=1<<20;
static std::vector<u32> runplan(const Plan&p){ tags<<<1,32>>>(buf,p,out,sink); std::vector<u32> h(48); CK(cudaMemcpy(h.data(),out,192,cudaMemcpyDeviceToHost)); return h;}
static void show(const char*name,const Plan&p){ auto h=runplan(p); printf("%s:",name); for(int k=0;k<p.count;k++){ if(p.p[k].op==1||p.p[k].op==3) continue; u32 t=0; printf(" | op%d n%d",p.p[k].op,p.p[k].n); for(int s=0;s<8;s++){printf(" %u",h[k*8+s]);t+=h[k*8+s];} printf(" =%u",t);} printf("\n"); }
// several blocks of `len` lines at given starts, loaded in turn `rounds` times in interleaved order; misses of each round
__global__ void blocks(u32*buf,const int*starts,int nb,int len,int rounds,int inter,u32*out,u32*sink){
  u32 acc=0; for(int r=0;r<rounds;r++){ u32 miss=0; for(int i=0;i<nb*len;i++){ int b=inter?i%nb:i/len,l=inter?i/nb:i%len; int s0=__ldcg(starts+b); s0+=(acc==12345); u32 t0=clk(); acc+=ldca(buf+((size_t)s0+l)*32); asm volatile("{.reg .u32 t; add.u32 t,%0,0;}"::"r"(acc)); u32 x=__shfl_sync(1u,acc,0); u32 t1=clk()+(x&0); if(t1-t0>170) miss++; } asm volatile("st.global.cg.u32 [%0],%1;"::"l"(out+r),"r"(miss)); }
  if(acc==12345)*sink=acc; }
static void do_blocks(){
  int*d; CK(cudaMalloc(&d,4096)); u32 seed=1; auto rnd=[&](){seed=seed*1664525u+1013904223u;return seed>>8;};
  for(int pct: {14,44}) { CK(cudaFuncSetAttribute(blocks,cudaFuncAttributePreferredSharedMemoryCarveout,pct)); printf("== blocks carveout %d\n",pct);
    auto go=[&](const char*nm,std::vector<int> st,int len,int inter,bool quiet=false){ CK(cudaMemcpy(d,st.data(),st.size()*4,cudaMemcpyHostToDevice)); blocks<<<1,1>>>(buf,d,(int)st.size(),len,8,inter,out,sink); u32 h[8]; CK(cudaMemcpy(h,out,32,cudaMemcpyDeviceToHost)); u32 t=0; for(int i=1;i<8;i++) t+=h[i]; if(!quiet||t) { printf("%s blocks=%d len=%d:",nm,(int)st.size(),len); for(int i=0;i<8;i++) printf(" %u",h[i]); printf("\n"); } };
    for(int n: {1000,1200,1400,1600,1728,1750,1800,1850,1900,2000,2100,2200,2300,2400}) go("contig",{0},n,0);
    for(int inter: {0,1}) for(int len: {16,64,128}) for(int total: {512,768,1024,1280,1536,1664,1792,2048}) for(int rep=0;rep<2;rep++){ std::vector<int> v; for(int b=0;b<total/len;b++) v.push_back((rnd()%16000)*128); go(inter?"random interleaved":"random",v,len,inter);} 
    for(int inter: {0,1}) for(int k: {4,8,9,10,11,12,13,14,16}) for(int pitch: {128,132*128,133*128,576,640,1024,4096}) { std::vector<int> v; for(int b=0;b<k;b++) v.push_back(b*pitch); char nm[64]; sprintf(nm,"pitch %d inter %d",pitch,inter); go(nm,v,128,inter);} 
    for(int n: {64,128,256,512,1024}) { printf("strided n=%d:\n",n); for(int s: {2,3,4,5,7,8,9,16,18,32,36,64,72,128,144,192,256,288,512,576,640,1024,1152,1280,2048,2304,4096,4608}) { std::vector<int> v; if(n>1000) continue; for(int i=0;i<n;i++) v.push_back(i*s); char nm[64]; sprintf(nm," stride %d",s); go(nm,v,1,0,true);} }
  } }

__global__ void seqk(u32*buf,const int*list,int n,u32*out,u32*sink){ __shared__ volatile u32 sh; u32 acc=0; u64 bits=0; for(int i=0;i<n;i++){ int a=__ldcg(list+i); a+=(acc==12345); bool store=a<0; if(store) a=-a-1; u32 t0=clk(); if(store) st(buf+(size_t)a*32,acc); else acc+=ldca(buf+(size_t)a*32); sh=acc; u32 t1=clk(); if(!store&&t1-t0>170) bits|=1ull<<i; if(store){u32 t=clk(); while(clk()-t<1500);} }
  __stcg((u64*)out,bits); if(acc==12345)*sink=acc; }
static int*dl;
static u64 seq(const std::vector<int>&v){ CK(cudaMemcpy(dl,v.data(),v.size()*4,cudaMemcpyHostToDevice)); seqk<<<1,1>>>(buf,dl,(int)v.size(),out,sink); u64 b; CK(cudaMemcpy(&b,out,8,cudaMemcpyDeviceToHost)); return b; }
static bool evicts(int x,const std::vector<int>&S){ std::vector<int> v{x}; for(int r=0;r<(S.size()>20?1:2);r++) v.insert(v.end(),S.begin(),S.end()); v.push_back(x); return seq(v)>>(v.size()-1)&1; }
static void carve(int pct);
static u32 total(const Plan&p){ auto h=runplan(p); u32 t=0; for(int i=0;i<8;i++) t+=h[(p.count-1)*8+i]; return t; }
static void do_prot(){
  for(int pct: {0,4,8,14,20,28,36,44,50,58,66,72,80,86,93,100}) { carve(pct); int C=0; for(int n=96;n<=2000;n+=16){ Plan p{{{0,0,n,1},{0,0,n,1}},2}; if(total(p)<=4) C=n; else break; }
    printf("carve %d: capacity %d lines = %.1f KB; kept of A after B 1800 single touches:",pct,C,C/8.0); for(double f: {0.4,0.5,0.6,0.7,0.8,0.9,1.0}) for(int op: {0,4}){ int a=C*f; Plan p{{{op,0,a,1},{op,0,a,1},{op,B,1800,1},{op,0,a,1}},4}; printf(" %d/%d",(int)(a-total(p)),a);} printf("\n"); }
}
static void do_policy(){
  CK(cudaMalloc(&dl,4096)); u32 seed=7; auto rnd=[&](){seed=seed*1664525u+1013904223u;return seed>>9;};
  for(int pct: {14,44}) for(int xx=0;xx<4;xx++) { CK(cudaFuncSetAttribute(seqk,cudaFuncAttributePreferredSharedMemoryCarveout,pct)); int x=xx*37+xx*128*3; std::vector<int> S; 
    std::vector<int> pool; for(int j=1;j<=1500;j++) pool.push_back(x+j*128);
    // grow S from the pool until it evicts x, in groups of 60
    bool ok=false; for(int tries=0;tries<25&&!ok;tries++){ S.clear(); for(int i=0;i<58;i++) S.push_back(pool[(tries*58+i)%pool.size()]); ok=evicts(x,S); }
    printf("== policy carve %d x %d evicted %d\n",pct,x,ok); if(!ok) continue;
    for(size_t i=0;i<S.size();){ auto T=S; T.erase(T.begin()+i); if(evicts(x,T)) S=T; else i++; }
    printf("minimal eviction set %d:",(int)S.size()); for(int e:S) printf(" %d",(e-x)/128); printf("\n");
    if(S.size()>10) continue;
    std::vector<int> mem{x}; mem.insert(mem.end(),S.begin(),S.end());
    for(int c: pool){ bool in=false; for(int m:mem) in|=m==c; if(in) continue; std::vector<int> E(mem.begin(),mem.begin()+S.size()); if(evicts(c,E)) mem.push_back(c); if(mem.size()>=40) break; }
    printf("members:"); for(int m:mem) printf(" %d",(m-x)/128); printf("\n");
    for(int k: {(int)S.size()+1,(int)S.size()+2,(int)S.size()+4}) for(int r=0;r<30;r++){ if((int)mem.size()<k) continue; std::vector<int> v,id; for(int i=0;i<60;i++){ int j=rnd()%k; id.push_back(j); v.push_back(mem[j]); } u64 b=seq(v); printf("R %d:",k); for(int i=0;i<60;i++) printf(" %d%s",id[i],(b>>i&1)?"m":""); printf("\n"); }
    for(int r=0;r<10;r++){ int k=S.size()+2; std::vector<int> v,id; for(int i=0;i<40;i++){ int j=rnd()%k; bool stx=rnd()%4==0; id.push_back(stx?-j-1:j); v.push_back(stx?-mem[j]-1:mem[j]); } u64 b=seq(v); printf("RS %d:",k); for(int i=0;i<40;i++) printf(" %s%d%s",id[i]<0?"s":"",id[i]<0?-id[i]-1:id[i],(b>>i&1)?"m":""); printf("\n"); }
  }
  carve(14); printf("== protect: A 864 by two ops, B 1728 by one op, probe A; then A by ops, B, probe B\n");
  for(int o1: {0,1,2,3,4,6}) for(int o2: {-1,0,1,2,3,4,6}) for(int ob: {0,1,3,4}) { Plan p{}; int k=0; p.p[k++]={o1,0,864,1}; if(o2>=0) p.p[k++]={o2,0,864,1}; p.p[k++]={ob,B,1728,1}; p.p[k++]={0,0,864,1}; p.count=k; auto h=runplan(p); u32 t=0; for(int i=0;i<8;i++) t+=h[(k-1)*8+i]; printf("A op%d op%d, B op%d: A lost %u of 864\n",o1,o2,ob,t);}
  for(int a: {864,1080,1200,1296,1400,1500,1600,1728}) for(int b: {1728}) for(int r: {2,4}) { Plan p{}; int k=0; for(int i=0;i<2;i++) p.p[k++]={0,0,a,1}; for(int i=0;i<r/2;i++) p.p[k++]={0,B,b,1}; p.p[k++]={0,0,a,1}; p.count=k; auto h=runplan(p); u32 t=0; for(int i=0;i<8;i++) t+=h[(k-1)*8+i]; printf("A%d x2, B%d x%d: A lost %u\n",a,b,r/2,t); }
  for(int c: {0,1}) { Plan p{{{0,0,864,1},{0,0,864,1},{0,B,800,1},{0,B,800,1},{0,2*B,800,1},{0,c?B:0,c?800:864,1}},6}; show("A864 x2 B800 x2 C800 then probe A/B",p); }
  for(int c: {0,1,2}) { Plan p{{{0,0,864,1},{0,0,864,1},{0,B,800,1},{0,B,800,1},{0,2*B,800,1},{0,2*B,800,1}},6}; p.p[4].n=p.p[5].n=c==0?200:c==1?400:800; show("A864 x2 B800 x2 Cn x2",p); }
}
static void carve(int pct);
static void carve(int pct){ CK(cudaFuncSetAttribute(tags,cudaFuncAttributePreferredSharedMemoryCarveout,pct)); }
static void do_tags(){
  for(int pct: {0,14,44}){ carve(pct); printf("== carveout %d\n",pct);
    char nm[99];
    for(int n: {700,800,900,1000,1100,1200,1300,1400,1500,1600,1700,1800,1850,1900,1950,2000,2100,2300}){ Plan p{{{0,0,n,1},{0,0,n,1},{0,0,n,1}},3}; sprintf(nm,"cap %d",n); show(nm,p);}
    for(int op: {1,3}) for(int nb: {0,200,400,600,800,1000,1200,1400,1600,2000,3000}){ Plan p{{{0,0,600,1},{op,B,nb,1},{0,0,600,1}},3}; sprintf(nm,"A600 store(op%d) B%d, A",op,nb); show(nm,p);}
    for(int nb: {400,800,1000,1200,1400,1600,2000}){ Plan p{{{0,0,600,1},{0,B,nb,1},{0,0,600,1}},3}; sprintf(nm,"A600 load B%d, A",nb); show(nm,p);}
    int C=pct==0?1920:pct==14?1728:1184; int a=C*5/8,h=a/2,b=C*5/8; 
    for(int probe=0;probe<2;probe++) for(int touch: {-1,0,1,3}){ Plan p{{{0,0,a,1},{touch<0?0:touch,0,touch<0?0:h,1},{0,B,b,1},{0,probe?h:0,h,1}},4}; sprintf(nm,"A%d touch(op%d) first half, B%d, probe %s",a,touch,b,probe?"second":"first"); show(nm,p);}
    for(int so: {1,3}) for(int lo: {0,5,2,4}){ Plan p{{{so,B,64,1},{lo,B,64,1},{lo,B,64,1}},3}; sprintf(nm,"store op%d then load op%d, again",so,lo); show(nm,p);}
    for(int lo: {0,5,2,4}){ Plan p{{{0,B,64,1},{1,B,64,1},{lo,B,64,1},{lo,B,64,1}},4}; sprintf(nm,"load word0, store word0, then load op%d, again",lo); show(nm,p);}
    for(int n: {8,16}){ printf("stride scan n=%d:",n); for(int s=1;s<=2048;s++){ Plan p{{{0,0,n,s},{0,0,n,s}},2}; auto r=runplan(p); u32 t=0; for(int k=0;k<8;k++) t+=r[8+k]; if(t) printf(" %d:%u",s,t);} printf("\n"); }
  }
}
// ---- rows
__device__ __forceinline__ float wmax(float v){for(int o=16;o;o>>=1) v=fmaxf(v,__shfl_xor_sync(~0u,v,o));return v;}
__device__ __forceinline__ float bmax(float v,float*red){ v=wmax(v); if(threadIdx.x%32==0) red[threadIdx.x/32]=v; __syncthreads(); float m=red[0]; for(int i=1;i<8;i++) m=fmaxf(m,red[i]); return m;}
// MODE 0: loads only; 1: last pass stores elsewhere; 2: last pass stores in place; 3: stores with .cs; 4: every pass stores elsewhere
template<int PASSES,int MODE> __global__ void __launch_bounds__(256) rows(float*in,float*o,int cols,u64*t){
  __shared__ float red[24]; u64 t0;
  float*p=in+(size_t)blockIdx.x*cols,*q=(MODE==2?in:o)+(size_t)blockIdx.x*cols; float m=-1e30f;
  if(t&&threadIdx.x==0){u32 s;asm volatile("mov.u32 %0,%%smid;":"=r"(s));asm volatile("mov.u64 %0,%%globaltimer;":"=l"(t0));t[blockIdx.x*6]=s;t[blockIdx.x*6+1]=clock64();}
#pragma unroll
  for(int k=0;k<PASSES;k++){
    float a=-1e30f;
#pragma unroll 1
    for(int c=threadIdx.x;c<cols;c+=256){ float x=__uint_as_float(ldca((u32*)(p+c))); 
      if((MODE&&k==PASSES-1)||MODE==4){ if(MODE==3) __stcs(q+c,x-m); else st((u32*)(q+c),__float_as_uint(x-m)); } else a=fmaxf(a,x-m*.5f); }
    if(k<PASSES-1) m=bmax(a,red+8*k); else if(a==12345.f) o[0]=a;
    if(t&&threadIdx.x==0) t[blockIdx.x*6+2+k]=clock64();
  }
}
typedef void(*RowK)(float*,float*,int,u64*);
static RowK ROWS[]={rows<1,0>,rows<2,0>,rows<3,0>,rows<3,1>,rows<3,2>,rows<3,3>,rows<2,1>,rows<3,4>,rows<1,1>};
static const char*RN[]={"1load","2load","3load","3+store","3+inplace","3+cs","2+store","3+3stores","1+store"};
__global__ void __launch_bounds__(256) rowslat(float*in,float*o,int cols,u32*hist,int stores){
  __shared__ float red[24]; __shared__ u32 h[3][24];
  for(int i=threadIdx.x;i<72;i+=256) ((u32*)h)[i]=0; __syncthreads();
  float*p=in+(size_t)blockIdx.x*cols,*q=o+(size_t)blockIdx.x*cols; float m=-1e30f;
#pragma unroll
  for(int k=0;k<3;k++){ float a=-1e30f;
#pragma unroll 1
    for(int c=threadIdx.x;c<cols;c+=256){ u32 t0=clk(); u32 v=ldca((u32*)(p+c)); float x=__uint_as_float(v); a=fmaxf(a,x-m*.5f); u32 d=__float_as_uint(a); asm volatile("{.reg .u32 z; add.u32 z,%0,0;}"::"r"(d)); u32 e=__shfl_sync(~0u,d,0); u32 t1=clk()+(e&0); 
      if(threadIdx.x%32==0) atomicAdd(&h[k][min((t1-t0)/40,23u)],1u);
      if(k==2&&stores) q[c]=x-m; }
    if(k<2) m=bmax(a,red+8*k); else if(a==12345.f) o[0]=a; }
  __syncthreads(); for(int i=threadIdx.x;i<72;i+=256) atomicAdd(hist+i,((u32*)h)[i]);
}
// ---- in flight
template<int MODE> __global__ void flight(u32*in,int steps,u32*sink){
  int w=(blockIdx.x*blockDim.x+threadIdx.x)/32,lane=threadIdx.x%32,all=gridDim.x*blockDim.x/32; u32 acc=0;
  if(MODE==1){w/=2;all/=2;}
  for(int s=0;s<steps;s++){ u32*p=in+((size_t)s*all+w)*32+lane; u32 a=0,b=0;
    if(MODE==0){a=ldca(p);b=ldca(p);} 
    if(MODE==1){a=ldca(p);} 
    if(MODE==2){ if(lane<16) a=ldca(p); b=ldca(p);} 
    if(MODE==3){ a=ldca(p); acc+=a; __syncwarp(); if(acc==77) b=1; b+=ldca(p);} 
    if(MODE==4){ if(lane<8) a=ldca(p); b=ldca(in+((size_t)s*all+w)*32+((lane+8)&31)); }
    acc+=a+b; }
  if(acc==12345)*sink=acc;
}
// ---- partly written lines: K words of each line, one in each sector if K<=4
template<int K> __global__ void part(u32*o,int lines){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<lines*K) st(o+(size_t)(i/K)*32+(i%K)*8,i); }
// a CTA sweeps its lines `words` times, each time one more word of every sector
__global__ void grow(u32*o,int per,int words){ u32*p=o+(size_t)blockIdx.x*per*32; for(int w=0;w<words;w++){ for(int i=threadIdx.x;i<per*4;i+=blockDim.x) st(p+i*8+w,i); __syncthreads(); } }
int main(int c,char**v){
  std::string what=v[1]; size_t N=1ull<<30; CK(cudaMalloc(&buf,N)); CK(cudaMemset(buf,0,N)); CK(cudaMalloc(&out,1<<20)); CK(cudaMalloc(&sink,256)); float*in=(float*)buf,*o=(float*)buf+(N/8);
  if(what=="tags") do_tags();
  if(what=="blocks") do_blocks();
  if(what=="prot") do_prot();
  if(what=="policy") do_policy();
  if(what=="rows"){ for(int grid: {1056,4096}) for(int cols: {1024,2048,3072,4096,6144,8192}) for(int m=0;m<9;m++){ if(grid==1056&&(m==5||m==8||m==7)) continue; printf("LAUNCH rows %s cols=%d grid=%d\n",RN[m],cols,grid); ROWS[m]<<<grid,256>>>(in,o,cols,nullptr);} 
    for(int pct: {0,14,28,44,58,72}) for(int m: {2,3}){ CK(cudaFuncSetAttribute(ROWS[m],cudaFuncAttributePreferredSharedMemoryCarveout,pct)); printf("LAUNCH rows %s cols=4096 grid=4096 carve=%d\n",RN[m],pct); ROWS[m]<<<4096,256>>>(in,o,4096,nullptr);} CK(cudaDeviceSynchronize()); }
  if(what=="flight"){ flight<0><<<1056,256>>>(buf,16,sink); flight<1><<<1056,256>>>(buf,16,sink); flight<2><<<1056,256>>>(buf,16,sink); flight<3><<<1056,256>>>(buf,16,sink); flight<4><<<1056,256>>>(buf,16,sink);
    flight<0><<<132,32>>>(buf,64,sink); flight<1><<<132,64>>>(buf,64,sink); flight<2><<<132,32>>>(buf,64,sink); flight<3><<<132,32>>>(buf,64,sink); flight<4><<<132,32>>>(buf,64,sink); CK(cudaDeviceSynchronize()); }
  if(what=="part"){ for(int n: {8192,16384,32768,49152,65536,98304,131072,262144,524288,1048576}){ printf("LAUNCH part K=1 lines=%d\n",n); part<1><<<(n+255)/256,256>>>(buf,n); printf("LAUNCH part K=4 lines=%d\n",n); part<4><<<(n*4+255)/256,256>>>(buf,n);} 
    for(int per: {4,8,16,24,32,40,48,56,64,80,96,128,192,256,384}) for(int w: {2,8}){ printf("LAUNCH grow lines=%d words=%d\n",per*1056,w); grow<<<1056,256>>>(buf,per,w);} CK(cudaDeviceSynchronize()); }
  if(what=="lat"){ u32*h; CK(cudaMalloc(&h,4096)); u64*t; CK(cudaMalloc(&t,8192*48));
    for(int cols: {2048,4096,8192}) for(int s=0;s<2;s++){ u32 hh[72]; for(int r=0;r<2;r++){ CK(cudaMemset(h,0,4096)); rowslat<<<4096,256>>>(in,o,cols,h,s);} CK(cudaMemcpy(hh,h,288,cudaMemcpyDeviceToHost)); for(int k=0;k<3;k++){ printf("LAT cols=%d stores=%d pass=%d:",cols,s,k); for(int i=0;i<24;i++) printf(" %u",hh[k*24+i]); printf("\n"); } }
    FILE*f=fopen(v[2],"wb"); for(int m: {2,3}) for(int cols: {2048,4096,8192}) { CK(cudaMemset(buf,0,N)); ROWS[m]<<<4096,256>>>(in,o,cols,t); std::vector<u64> ht(4096*6); CK(cudaMemcpy(ht.data(),t,4096*48,cudaMemcpyDeviceToHost)); fwrite(ht.data(),8,ht.size(),f);} fclose(f); }
  CK(cudaDeviceSynchronize()); return 0; }
