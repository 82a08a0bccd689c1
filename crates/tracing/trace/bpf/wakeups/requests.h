/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Requests to servers: data arrives at a connection, a watched thread takes it up, and a watched thread begins to send an answer.
 *
 * Attached only on request. Data arrives for any program of the machine: the time is stored in the socket, which is found sooner than
 * an entry of a hash table. TCP and stream sockets of the Unix domain.
 *
 * Since Linux 6.3 there are events; before, the same is seen at the kernel's functions. An event tells of a send when it is over, when
 * the receiver may have answered already: what counts is when the thread called. */
#pragma once

#include "waking.h"

#define UNIX 1
#define INET 2
#define INET6 10
#define STREAM 1
#define LISTENS 10
#define ESTABLISHED 1
#define SYN_RECEIVED 3
#define MADE 2 /* by a client */

/* "PRI * HT", the first bytes of a connection of HTTP/2, which has several requests at once. */
#define PREFACE 0x5448202a20495250ull

/* A connection from the first data on that is not answered. */
struct connection {
	u64 arrived; /* the first data since the last reading; 0: none */
	u64 since; /* when the data arrived that was read first; 0: not seen */
	u64 taken; /* when that had been read; 0: nothing is being answered */
	u32 reader;
	u32 began; /* its first data has been read */
	u32 several; /* it has several requests at once */
	u32 accepted; /* or MADE; 0: that was not seen */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct connection);
} connections SEC(".maps");

/* The fields of a connection's own end: its kind of address, its port, or whether it has a name. */
struct end {
	u32 family, port;
};

static __always_inline int has_sockets(void)
{
	return bpf_core_field_exists(struct sock, __sk_common.skc_family) && bpf_core_field_exists(struct sock, __sk_common.skc_num) &&
	       bpf_core_field_exists(struct sock, __sk_common.skc_state) && bpf_core_field_exists(struct sock, sk_type) &&
	       bpf_core_field_exists(struct socket, sk) && bpf_core_field_exists(struct unix_sock, addr);
}

/* Whether others can connect to this end: who connects to another one has no name, or a port that nobody listens at, which user
 * space knows. */
static __always_inline int end_of(struct sock *sk, struct end *end)
{
	end->family = sk->__sk_common.skc_family;
	end->port = 0;
	if (sk->sk_type != STREAM || sk->__sk_common.skc_state == LISTENS)
		return 0;
	if (end->family == INET || end->family == INET6) {
		end->port = sk->__sk_common.skc_num;
		return end->port != 0;
	}
	void *address = 0;
	if (end->family != UNIX || bpf_core_read(&address, sizeof(address), &((struct unix_sock *)sk)->addr))
		return 0;
	return address != 0;
}

static __always_inline struct connection *connection_of(struct sock *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline int arrives(struct sock *sk)
{
	struct end end;
	if (!has_sockets() || !end_of(sk, &end))
		return 0;
	struct connection *c = connection_of(sk);
	if (c && !c->arrived)
		c->arrived = bpf_ktime_get_ns();
	return 0;
}

/* Eight bytes at an address of the program. */
static __always_inline u64 word_at(u64 address)
{
	u64 word = 0;
	bpf_probe_read_user(&word, sizeof(word), (const void *)address);
	return word;
}

/* The second argument of the system call that the thread is in. */
static __always_inline u64 second_argument(struct task_struct *p)
{
	struct pt_regs *regs = (void *)bpf_task_pt_regs(p);
	struct pt_regs___arm64 *arm = (void *)regs;
	u64 argument = 0;
	if (bpf_core_field_exists(regs->si))
		bpf_core_read(&argument, sizeof(argument), &regs->si);
	else if (bpf_core_field_exists(arm->regs))
		bpf_core_read(&argument, sizeof(argument), &arm->regs[1]);
	return argument;
}

/* Whether what was just read begins as HTTP/2 does. The second argument of the call is where the data is, or a vector, or a message
 * with one. */
static __always_inline int is_http2(struct task_struct *p)
{
	u64 argument = second_argument(p), first = word_at(argument);
	return first == PREFACE || word_at(first) == PREFACE || word_at(word_at(argument + 16)) == PREFACE;
}

/* `length`: what the call returned. */
static __always_inline int is_read(struct sock *sk, s64 length)
{
	struct task_struct *p = bpf_get_current_task_btf();
	struct end end;
	if (!has_sockets() || length <= 0 || !watched(p) || !end_of(sk, &end))
		return 0;
	struct connection *c = connection_of(sk);
	if (!c)
		return 0;
	if (!c->began) {
		c->began = 1;
		c->several = is_http2(p);
	}
	if (!c->taken) {
		c->since = c->arrived;
		c->taken = bpf_ktime_get_ns();
		c->reader = p->pid;
	}
	c->arrived = 0;
	return 0;
}

/* The first data that a watched thread sends after data has been read, at that time; 0: now. */
static __always_inline int is_answered(struct task_struct *p, struct sock *sk, u64 at)
{
	struct end end;
	if (!has_sockets() || !end_of(sk, &end))
		return 0;
	struct connection *c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c || !c->taken || c->accepted == MADE)
		return 0;
	if (at < c->taken)
		at = bpf_ktime_get_ns();
	struct request r = {
		.arrived = c->since,
		.taken = c->taken,
		.answered = at,
		.tid = p->pid,
		.reader = c->reader,
		.family = end.family,
		.port = end.port,
		.accepted = c->accepted,
		.several = c->several ? HTTP2 : c->arrived && c->arrived < at ? MORE : ONE,
	};
	c->taken = 0;
	if (bpf_ringbuf_output(&records, &r, sizeof(r), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&told.lost, 1);
	return 0;
}

/* A thread may be started for a request. What it does before its first sleep is recorded like what it does after one. */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(starts, struct task_struct *p)
{
	if (!watched(p))
		return 0;
	struct cpu *c = here();
	struct thread *s = bpf_task_storage_get(&threads, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!c || !s || s->stage != ASLEEP || s->record.since)
		return 0;
	u64 now = bpf_ktime_get_ns();
	wakes(c, s, p);
	s->stage = WOKEN;
	s->record.since = now;
	s->record.since_state = 0;
	s->record.slept_in = STARTED;
	waits_from(c, s, p, now);
	return 0;
}

/* A connection is established: a server's from the state in which the first packet was received. */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(is_established, struct sock *sk, int before, int state)
{
	struct end end;
	if (state != ESTABLISHED || !has_sockets() || !end_of(sk, &end))
		return 0;
	struct connection *c = connection_of(sk);
	if (c)
		c->accepted = before == SYN_RECEIVED ? 1 : MADE;
	return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(data_arrives, struct sock *sk)
{
	return arrives(sk);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(data_is_read, struct sock *sk, int length)
{
	return is_read(sk, length);
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(data_is_sent, struct sock *sk, int length)
{
	struct task_struct *p = bpf_get_current_task_btf();
	int is_named = named(p->tgid);
	struct thread *s = is_named || control.children ? known(p) : 0;
	return length > 0 && (s || is_named) ? is_answered(p, sk, s ? s->loop.called : 0) : 0;
}

/* Both TCP and sockets of the Unix domain call it. */
SEC("fentry/sock_def_readable")
int BPF_PROG(readable, struct sock *sk)
{
	return arrives(sk);
}

static __always_inline s64 length_of(void *ctx)
{
	u64 length = 0;
	return bpf_get_func_ret(ctx, &length) ? 0 : (int)length;
}

SEC("fexit/tcp_recvmsg")
int BPF_PROG(tcp_is_read, struct sock *sk)
{
	return is_read(sk, length_of(ctx));
}

SEC("fexit/unix_stream_recvmsg")
int BPF_PROG(unix_is_read, struct socket *socket)
{
	return has_sockets() ? is_read(socket->sk, length_of(ctx)) : 0;
}

SEC("fentry/tcp_sendmsg")
int BPF_PROG(tcp_is_sent, struct sock *sk)
{
	struct task_struct *p = bpf_get_current_task_btf();
	return watched(p) ? is_answered(p, sk, 0) : 0;
}

SEC("fentry/unix_stream_sendmsg")
int BPF_PROG(unix_is_sent, struct socket *socket)
{
	struct task_struct *p = bpf_get_current_task_btf();
	return has_sockets() && watched(p) ? is_answered(p, socket->sk, 0) : 0;
}
