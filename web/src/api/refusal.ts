/** A sentence to show as it is. */
export class Refusal extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.name = "Refusal";
    this.status = status;
  }

  /** Whether the same question may be answered another time: nobody answered, or there was too much to do. */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** Called off by the person who asked. */
export class Stopped extends Refusal {
  constructor() {
    super("You stopped this before it was done.", 0);
    this.name = "Stopped";
  }
}
