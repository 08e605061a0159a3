#include <cstdio>
#include <cuda_runtime.h>
__global__ void vector_add_1(const float* __restrict__ a,const float* __restrict__ b,float* __restrict__ c,int n){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) c[i]=a[i]+b[i];}
__global__ void copy_1(const float* __restrict__ x,float* __restrict__ y,int n,int off){int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) y[i]=x[i+off];}
__global__ void stencil(const float* __restrict__ x,float* __restrict__ y,int n){int col=blockIdx.x*32+threadIdx.x,row=blockIdx.y*8+threadIdx.y; int i=row*n+col; float c=x[i],v=c; if(col>0&&col<n-1&&row>0&&row<n-1) v=fmaf(0.5f,c,0.125f*((x[i-1]+x[i+1])+(x[i-n]+x[i+n]))); y[i]=v;}
int main(){int n=1<<24; float*a,*b,*c; cudaMalloc(&a,n*4+4096);cudaMalloc(&b,n*4);cudaMalloc(&c,n*4);
vector_add_1<<<n/256,256>>>(a,b,c,n); copy_1<<<n/256,256>>>(a,c,n,0); stencil<<<dim3(128,512),dim3(32,8)>>>(a,c,4096); cudaDeviceSynchronize(); printf("%s\n",cudaGetErrorString(cudaGetLastError()));}
