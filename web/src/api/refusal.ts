/** A sentence to show as it is. */
export class Refusal extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.name = "Refusal";
    this.status = status;
  }
}
