"""What the written functions are made of: methods, slices, sizes, numbers, conditions."""

from __future__ import annotations

BOLD = 0.1  # the share of functions that may do what can only be refused
UNARY = """relu sigmoid tanh exp neg abs sin sqrt square floor round isnan sign cumsum(-1) softmax(-1) sort(-1).values
    clamp(-1,1) contiguous() clone() detach() flatten() t() double() float() long() bool() half() mean() sum() amax()
    argmax(-1) mean(-1) sum(0) amax(-1,keepdim=True) std(-1) norm() flip(0) nonzero() unique() topk(1).indices
    to(torch.complex64) real isfinite() logical_not() cos() any() tril() roll(1,0) diff() argsort(-1) prod(-1)""".split()
VIEWS = """view(-1) reshape(-1) transpose(0,-1) unsqueeze(0) unsqueeze(-1) squeeze() T mT narrow(0,0,1) flatten()
    view(N,-1) reshape(-1,N) expand(2,-1,-1) permute(1,0) unbind(0)[0] unbind(0)[-1] chunk(2)[-1] split(2)[0] diagonal()
    movedim(0,-1) select(0,0) view_as(self) expand_as(self) unfold(0,1,1) unflatten(0,(1,-1)) swapaxes(0,1) ravel()""".split()
SLICES = """[0] [-1] [1:] [:-1] [::2] [:N] [N//2:] [...,0] [None] [:,0] [...,:2] [:,None] [0,0] [[0]] [torch.tensor([0,0])]
    [:N-1] [...,-1:] [MASK] [MASK.nonzero()[:,0]] [INDEX]""".split()
BINARY = "+ - * / // % ** == < >= & | @".split()
TWO = """torch.maximum torch.minimum torch.where_ torch.cat_ torch.stack_ torch.outer torch.matmul torch.atan2 torch.dot
    torch.broadcast_tensors_ torch.add_alpha_ torch.lerp_ torch.allclose_""".split()
INPLACE = """add_(1) mul_(2) zero_() relu_() clamp_(min=0) neg_() fill_(0.5) copy_(OTHER) t_() unsqueeze_(0) squeeze_()
    add_(OTHER) mul_(OTHER) masked_fill_(MASK,0.0) index_fill_(0,torch.tensor([0]),3.0) exp_() transpose_(0,-1) sub_(N)
    addcmul_(OTHER,OTHER) cumsum_(0) sigmoid_() floor_()""".split()
SIZES = """T.shape[0] T.shape[-1] T.size(0) len(T) T.numel() T.dim() T.size(-1)//2 T.shape[0]+1 T.stride(0) sum(T.shape)
    max(T.shape) min(T.shape[0],3) N*2 N%2 N//2 abs(N-3) N-1 int(N/2) round(N*0.7) int(N) divmod(N,2)[0] T.storage_offset()
    len([1,2,3]) T.ndim -N (N+N)//2 max(N,2) N**2 T.element_size() math.ceil(N/2) T.shape.numel() pow(N,2)""".split()
SCALARS = """T.sum().item() T.mean().item() T.flatten()[0].item() S*2 S+N S-0.5 S/3 N/2 N*0.5 abs(S) -S float(N) T.max().item()
    math.sqrt(N) S**2 T.argmax().item() round(S,1) math.exp(N) T.any().item() T.sum().item()*N S*T.shape[0]-N
    T.numel()/S T.mean().item()*2+S""".split()
BOLD_SCALARS = "float(T.sum()) int(T.sum()) T.tolist()[0] min(S,2.0) float(S) int(S) T.numpy().sum()".split()
TESTS = """N>2 N==3 N%2==0 T.dim()==2 T.shape[0]>T.shape[-1] T.dtype==torch.float32 N T.is_contiguous() isinstance(N,int)
    isinstance(T,torch.Tensor) T.shape==(3,4) len(T)>1 T.numel()>6 T.is_floating_point() T.shape[0]!=N N>=1~and~N<9 not~N
    N~in~(2,3) T.device.type=="cpu" T.shape[:1]==T.shape[1:] k=="sum" k=="mean"~or~N>3 isinstance(k,str)""".split()
TESTS = [test.replace("~", " ") for test in TESTS]
BOLD_TESTS = ["N<S", "S>0", "T.sum()>0", "T.any()", "T.isnan().any()"]
LITERALS = """-1 (-1) -3 0 -0.0 -1.5 True False (2**70) -2 1j (-1j) float('inf') -float('inf') float('nan') 0.1 1e-45 1e300 (-(2**70))
    -7 100 -1e-8 2.5 (-2.0)""".split()
OF_LITERALS = "+ - * / // % ** == != < <= > >= & | ^ << >> and or".split()
OF_NUMBERS = """N.bit_length() operator.add(N,2) math.gcd(N,6) divmod(N,-2)[1] N.__index__() bin(N) round(N/3,2) sum([N,2]) np.int64(N)
    range(N)[-1] bool(N) ~N N<<1 N>>1 N&1 N^3 N|1 +N -N+-1 abs(-N) float(N) N/-3 N//-3 -N//2 -N%3 N**-1 (-N)**2 -N**2 min(N,3)
    max(-N,-3) round(-N/2) int(-N/2) math.floor(-N/2) math.ceil(-N/3) math.trunc(N/2) math.isqrt(abs(N)) math.log(N+1) S%-1 S//-2 -S**2 (-S)**2
    round(S) round(S,-1) math.copysign(S,-1) math.fmod(S,2) S.is_integer() int(N>2)+1 (N>2)+(N>3) not~N N~and~S N~or~S True+N N-True
    complex(N) N==S hash(2)+N str(N) f'{N}' 'abc'[N%3] slice(N).stop pow(N,2,7) math.prod([N,2]) max([N,2,S]) sum(range(N%9)) float(N)==N
    int(S) -(-N) 2-(-N) 2**-N (2)**N 2**N%5 -2**N (-2)**N (-1)**N -1**N N%2==0 1<N<4 (N>1)==(N<9) N~if~N>2~else~-N math.pi*N math.inf~if~N>99~else~N
    x.shape[-1]~if~x.dim()>1~else~1 (N,2)[N%2] [N,-N][-1] {1:N}.get(1,0) N.numerator N.real complex(N,S).imag (N*1.0).hex() N.conjugate()""".split()
OF_NUMBERS = [number.replace("~", " ") for number in OF_NUMBERS]
