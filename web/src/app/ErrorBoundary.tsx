import { Component, type ReactNode } from "react";
import { Failed } from "../parts/States";

interface Props {
  /** When this changes, what failed is tried again. */
  of: string;
  children: ReactNode;
}

/** One view that breaks must not take the page with it. */
export class ErrorBoundary extends Component<Props, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override componentDidUpdate(before: Props) {
    if (before.of !== this.props.of && this.state.error) this.setState({ error: null });
  }

  override render() {
    const { error } = this.state;
    return error ? <Failed error={error} onRetry={() => this.setState({ error: null })} /> : this.props.children;
  }
}
