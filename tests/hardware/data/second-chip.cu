#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <numeric>
typedef long long ll; typedef unsigned u32; typedef unsigned long long u64;
#define CK(x) do{cudaError_t e=(x); if(e!=cudaSuccess){printf("ERR %s %s line %d\n",#x,cudaGetErrorString(e),__LINE__);exit(1);} }while(0)
#define DI __device__ __forceinline__
DI ll clk(){ll t; asm volatile("mov.u64 %0, %%clock64;":"=l"(t)::"memory"); return t;}
DI u32 smid(){u32 s; asm volatile("mov.u32 %0, %%smid;":"=r"(s)); return s;}
// Where atomics act, what carve-outs leave of the L1, constant caches, local memory. nvcc -arch=sm_90a -O3; prints second-chip.txt.
// ---- 1 atomics per line
template<int OP> DI u64 step(u64 p,u64 x){
  u32 v=(u32)x; u64 q=x;
  if(OP==0){asm volatile("ld.global.cg.u64 %0,[%1];":"=l"(q):"l"(p+(x&0)):"memory");return q&0;}
  if(OP==1){asm volatile("atom.global.add.u32 %0,[%1],%0;":"+r"(v):"l"(p):"memory");return v;}
  if(OP==2){asm volatile("red.global.add.u32 [%1],%0; ld.global.cg.u32 %0,[%1];":"+r"(v):"l"(p):"memory");return v;}
  if(OP==3){asm volatile("atom.global.cas.b32 %0,[%1],%0,%0;":"+r"(v):"l"(p):"memory");return v;}
  if(OP==4){asm volatile("st.global.u32 [%1],%0; ld.global.cg.u32 %0,[%1];":"+r"(v):"l"(p):"memory");return v;}
  if(OP==5){asm volatile("st.global.u32 [%1],%0; fence.acq_rel.gpu;"::"r"(v),"l"(p):"memory");return v;}
  if(OP==6){asm volatile("st.global.u32 [%1],%0; ld.global.ca.u32 %0,[%1];":"+r"(v):"l"(p):"memory");return v;}
  if(OP==7){asm volatile("st.global.u32 [%1+32],%0; ld.global.ca.u32 %0,[%1];":"+r"(v):"l"(p):"memory");return v;}
  return q;
}
template<int OP> __global__ void k_lines(char*b,int n,u64 pitch,float*o,u32 target){
  if(smid()!=target||threadIdx.x)return;
  for(int l=0;l<n;l++){u64 p=(u64)(b+l*pitch),x=0; for(int i=0;i<4;i++)x=step<OP>(p,x);
    ll t0=clk();
    #pragma unroll 16
    for(int i=0;i<64;i++)x=step<OP>(p,x);
    ll t1=clk(); o[l]=float(t1-t0)/64+(x==12345678);}
}
// plain pointer chase (self pointer)
__global__ void k_self(char*b,int n,u64 pitch){for(int i=threadIdx.x;i<n;i+=blockDim.x)*(u64*)(b+i*pitch)=(u64)(b+i*pitch);}
__global__ void k_chl(char*b,int n,u64 pitch,float*o,u32 target){
  if(smid()!=target||threadIdx.x)return;
  for(int l=0;l<n;l++){u64 p=(u64)(b+l*pitch); for(int i=0;i<4;i++)asm volatile("ld.global.cg.u64 %0,[%0];":"+l"(p)::"memory");
    ll t0=clk();
    #pragma unroll 16
    for(int i=0;i<64;i++)asm volatile("ld.global.cg.u64 %0,[%0];":"+l"(p)::"memory");
    o[l]=float(clk()-t0)/64+(p==1);}
}
// ---- 2 L1 capacity
__global__ void k_ring(char*b,const u32*perm,int n){for(int i=threadIdx.x;i<n;i+=blockDim.x)*(u64*)(b+(u64)perm[i]*128)=(u64)(b+(u64)perm[(i+1)%n]*128);}
__global__ void __launch_bounds__(1024) k_l1(char*b,int warm,int steps,ll*o){
  extern __shared__ char sm[]; if(threadIdx.x||blockIdx.x)return; u64 p=(u64)b;
  for(int i=0;i<warm;i++)asm volatile("ld.global.u64 %0,[%0];":"+l"(p)::"memory");
  ll t0=clk();
  for(int i=0;i<steps;i+=16){
    #pragma unroll
    for(int j=0;j<16;j++)asm volatile("ld.global.u64 %0,[%0];":"+l"(p)::"memory");}
  o[0]=clk()-t0;o[1]=p;
}
// ---- 5 local
__global__ void k_loc(int n,int steps,ll*out){
  u64 a[2048],b; asm volatile("cvta.to.local.u64 %0,%1;":"=l"(b):"l"(a));
  for(int i=0;i<n;i++){u64 v=b+8*((i+17)%n); asm volatile("st.local.u64 [%0],%1;"::"l"(b+8*i),"l"(v):"memory");}
  u64 p=b;ll t0=0;
  for(int k=0;k<2;k++){t0=clk();
    for(int i=0;i<steps;i+=16){
      #pragma unroll
      for(int j=0;j<16;j++)asm volatile("ld.local.u64 %0,[%1];":"=l"(p):"l"(p):"memory");}}
  out[0]=clk()-t0;out[1]=p+a[0];
}
// ---- 6 constants
__constant__ u32 c_ring[16384];
template<bool U> __global__ void k_con(int warm,int steps,ll*out){u32 p=U?0:threadIdx.x*64;ll t0=0;
  for(int k=0;k<2;k++){int m=k?steps:warm;t0=clk();
    #pragma unroll 1
    for(int i=0;i<m;i+=16){
      #pragma unroll
      for(int j=0;j<16;j++)p=*(const u32*)((const char*)c_ring+p);}}
  out[0]=clk()-t0;out[1]=p;}
int main(){
  char*b;CK(cudaMalloc(&b,64<<20));float*o;CK(cudaMalloc(&o,65536));ll*o2;CK(cudaMalloc(&o2,64));ll h2[2];
  CK(cudaMemset(b,0,64<<20));
  const int N=64;u64 pitch=4736;float h[N];
  for(u32 sm:{0u,6u}){
    auto show=[&](const char*n){CK(cudaDeviceSynchronize());CK(cudaMemcpy(h,o,N*4,cudaMemcpyDeviceToHost));printf("%s sm%u:",n,sm);for(int i=0;i<N;i++)printf(" %.0f",h[i]);printf("\n");};
    k_self<<<1,64>>>(b,N,pitch);k_chl<<<132,32>>>(b,N,pitch,o,sm);show("chase");
    k_lines<1><<<132,32>>>(b,N,pitch,o,sm);show("atom_add");
    k_lines<3><<<132,32>>>(b,N,pitch,o,sm);show("atom_cas");
    k_lines<2><<<132,32>>>(b,N,pitch,o,sm);show("red_ldcg");
    k_lines<4><<<132,32>>>(b,N,pitch,o,sm);show("st_ldcg");
    k_lines<5><<<132,32>>>(b,N,pitch,o,sm);show("st_fencegpu");
    k_lines<6><<<132,32>>>(b,N,pitch,o,sm);show("st_ldca_same");
    k_lines<7><<<132,32>>>(b,N,pitch,o,sm);show("st32_ldca_other");
  }
  // L1 capacity
  u32*perm;CK(cudaMalloc(&perm,8192*4));
  auto chase=[&](int lines,int block,int grid,int smem)->double{
    std::vector<u32>pm(lines);std::iota(pm.begin(),pm.end(),0);srand(1);for(int i=lines-1;i>1;i--)std::swap(pm[i],pm[1+rand()%i]);
    CK(cudaMemcpy(perm,pm.data(),lines*4,cudaMemcpyHostToDevice));k_ring<<<1,1024>>>(b,perm,lines);
    k_l1<<<grid,block,smem>>>(b,2*lines,4096,o2);CK(cudaDeviceSynchronize());CK(cudaMemcpy(h2,o2,16,cudaMemcpyDeviceToHost));return h2[0]/4096.;};
  CK(cudaFuncSetAttribute(k_l1,cudaFuncAttributeMaxDynamicSharedMemorySize,227*1024));
  struct C{int carve,block,grid,smem;};
  std::vector<C> cs={{0,32,1,0},{3,32,1,0},{6,32,1,0},{12,32,1,0},{25,32,1,0},{40,32,1,0},{55,32,1,0},{70,32,1,0},{85,32,1,0},{100,32,1,0},
    {-1,32,1,0},{-1,1024,1,0},{-1,256,1,0},{-1,256,1056,0},{-1,256,1,4096},{-1,256,1,16384},{-1,256,1,40960},{-1,256,1,102400},{-1,1024,1,16384},{-1,1024,1,40960},{-1,128,1,8192},{-1,128,1056,8192}};
  for(auto c:cs){CK(cudaFuncSetAttribute(k_l1,cudaFuncAttributePreferredSharedMemoryCarveout,c.carve));int occ;CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&occ,k_l1,c.block,c.smem));
    printf("l1 carve %d block %d grid %d smem %d occ %d:",c.carve,c.block,c.grid,c.smem,occ);
    for(int kb=12;kb<=264;kb+=(kb<40?2:6))printf(" %d:%.0f",kb,chase(kb*8,c.block,c.grid,c.smem));printf("\n");}
  // exact at smallest
  CK(cudaFuncSetAttribute(k_l1,cudaFuncAttributePreferredSharedMemoryCarveout,100));
  printf("max_smem lines:");for(int l=120;l<=400;l+=4)printf(" %d:%.1f",l,chase(l,32,1,0));printf("\n");
  CK(cudaFuncSetAttribute(k_l1,cudaFuncAttributePreferredSharedMemoryCarveout,0));
  printf("max_l1 lines:");for(int l=1888;l<=2600;l+=16)printf(" %d:%.1f",l,chase(l,32,1,0));printf("\n");
  for(int n:{16,64,256,320,384,512,640,768,896,928,960,992,1024,1152,1280,1536,2048}){printf("local %d B:",n*8);for(int r=0;r<4;r++){k_loc<<<1,1>>>(n,4096,o2);CK(cudaDeviceSynchronize());CK(cudaMemcpy(h2,o2,16,cudaMemcpyDeviceToHost));printf(" %.1f",h2[0]/4096.);}printf("\n");}
  for(int st:{4,8,16,32,64,128,256})for(int f:{4,16,32,64,128,256,512,1024,1536,2048,2304,2560,3072,4096,65536}){if(f<st)continue;int n=f/st;std::vector<u32>hh(16384,0);for(int i=0;i<n;i++)hh[i*st/4]=((i+1)%n)*st;
    CK(cudaMemcpyToSymbol(c_ring,hh.data(),65536));printf("const stride %d foot %d:",st,f);
    k_con<false><<<1,1>>>(n>2048?16384:4096,4096,o2);CK(cudaDeviceSynchronize());CK(cudaMemcpy(h2,o2,16,cudaMemcpyDeviceToHost));printf(" LDC %.1f",h2[0]/4096.);
    k_con<true><<<1,1>>>(n>2048?16384:4096,4096,o2);CK(cudaDeviceSynchronize());CK(cudaMemcpy(h2,o2,16,cudaMemcpyDeviceToHost));printf(" ULDC %.1f\n",h2[0]/4096.);}
}
